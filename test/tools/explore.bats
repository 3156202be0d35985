#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# softverbs explore: finds each kind of failure of a program with mistakes, the one fault that it needs, and
# leaves nothing behind.
# shellcheck disable=SC2016,SC2154 # shells get texts with variables of their own; helpers sets ours
load ../compat/helpers

tool=$TOP_BUILDDIR/softverbs
fragile=$TOP_BUILDDIR/test/tools/fragile
# Faults that the program bears. They are left out of what is reported.
noise='write:probability=0.5 -> delay 10us'
# The program prints its process id.
without_pid='sed s/[0-9]*://'

setup() {
    start_network
    export TMPDIR=$BATS_TEST_TMPDIR/t
    mkdir "$TMPDIR"
}
teardown() { stop_all; }

# usage: explores STATUS NAME ARGUMENT... - runs it to its end, which must have the status.
explores() {
    local wanted=$1 name=$2 status=0
    shift 2
    start "$name" "$tool" explore --only "$@"
    wait "${process_of[$name]}" || status=$?
    unset "process_of[$name]"
    [ "$status" -eq "$wanted" ] || { echo "status $status instead of $wanted"; return 1; }
    [ -z "$(ls -A "$TMPDIR")" ] || { echo "left behind:"; ls "$TMPDIR"; return 1; }
}

# usage: again NAME - runs the command that it printed; its output goes to again.out.
again() {
    local command
    command=$(sed -n '/^   again:$/{n;s/^ *//p;q}' "$BATS_TEST_TMPDIR/$1.out")
    [[ $command = "softverbs run "* ]]
    status=0
    PATH=$TOP_BUILDDIR:$PATH timeout "${2:-$deadline_seconds}" bash -c "$command" \
        >"$BATS_TEST_TMPDIR/again.out" 2>"$BATS_TEST_TMPDIR/again.err" || status=$?
}

needs() { has "$1" "^     write program=fragile qp=1 nth=4 -> $2$"; [ "$(grep -c '^     write ' "$BATS_TEST_TMPDIR/$1.out")" -eq 1 ]; }

@test "explore: nothing is found where a program bears the faults" {
    explores 0 good --seeds 5 --faults "$noise" --normalize "$without_pid" -- "$fragile"
    prints good <<<'5 runs, 0 failed'
    is_silent good
}

@test "explore: a crash is found, shrunk to one fault, and made again" {
    explores 1 crash --seeds 3 --faults "write:nth=4 -> remote_access; $noise" --ignore-output -- "$fragile"
    has crash '^3 runs, 3 failed in 1 way$'
    has crash '^1\. crashed with SIGSEGV: 3 runs, seeds 1, 2, 3$'
    needs crash remote_access
    again crash
    [ "$status" -eq 139 ]
}

# usage: writes_cores - succeeds where the kernel writes core files into the directory of the process, and gdb can read them.
writes_cores() {
    command -v gdb >/dev/null && [ "$(ulimit -Hc)" != 0 ] && [[ $(cat /proc/sys/kernel/core_pattern) != [\|/%]* ]]
}

@test "explore: a crash has its stacks, and no core file stays" {
    writes_cores || skip "core files are not written into the directory of the process here, or gdb is not installed"
    mkdir "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work" || return
    explores 1 crash --seeds 1 --faults "write:nth=4 -> remote_access; $noise" --ignore-output -- "$fragile"
    has crash '^     #[0-9]+ .* in write_number '
    [ -z "$(ls -A)" ]
    # A file of that name that is there already is left alone.
    echo mine >core
    explores 1 crash --seeds 1 --faults "write:nth=4 -> remote_access; $noise" --ignore-output -- "$fragile"
    [ "$(cat core)" = mine ]
}

@test "explore: seeds that cannot differ are reported" {
    explores 0 alike --seeds 2 --faults 'write:nth=1000 -> flush' --ignore-output -- "$fragile"
    grep -qx 'softverbs explore: no rule has a probability, so all 2 seeds make the same faults; use --seeds=1' "$BATS_TEST_TMPDIR/alike.err"
    explores 0 one --seeds 1 --faults 'write:nth=1000 -> flush' --ignore-output -- "$fragile"
    is_silent one
}

@test "explore: a hang is found, with the stacks and queue pairs of its processes, and made again" {
    explores 1 hang --seeds 2 --jobs 2 --timeout "$(scaled 2)" --faults "write:nth=4 -> rnr_retry_exceeded; $noise" \
        --ignore-output -- sh -c '"$1"; exit $?' sh "$fragile"
    has hang '^1\. hung: 2 runs, seeds 1, 2$'
    needs hang rnr_retry_exceeded
    has hang '^       queue pair 0x[0-9a-f]{6}: RC, failed, soft0 port 1, '
    has hang '^     process [0-9]+ \(fragile\), state '
    has hang '^     process [0-9]+ \(sh\), state '
    has hang '^     (#.* in (ibv_get_cq_event|next_completion) |Thread .* waits in )'
    again hang "$(scaled 2)"
    [ "$status" -eq 124 ]
}

@test "explore: another status is found, made again, and accepted on demand" {
    rules="write:nth=4 -> local_length; $noise"
    explores 1 status --seeds 2 --faults "$rules" --normalize "$without_pid" -- "$fragile"
    has status '^1\. ended with status 3: 2 runs, seeds 1, 2$'
    has status '^     fragile: write 3: local length error$'
    needs status local_length
    again status
    [ "$status" -eq 3 ]
    explores 0 accepted --seeds 2 --faults "$rules" --accept 3 --normalize "$without_pid" -- "$fragile"
}

@test "explore: another output is found, made again, and ignored on demand" {
    rules="write:nth=4 -> retry_exceeded; $noise"
    explores 1 output --seeds 2 --faults "$rules" --normalize "$without_pid" -- "$fragile"
    has output '^1\. printed something else than without faults: 2 runs, seeds 1, 2$'
    needs output retry_exceeded
    again output
    [ "$status" -eq 0 ]
    has again 'the sum is 6$'
    explores 0 ignored --seeds 2 --faults "$rules" --ignore-output -- "$fragile"
}

@test "explore: failures are told apart, and those of one kind are reported together" {
    explores 1 several --seeds 40 --faults "write:program=fragile,probability=0.05 -> remote_access
        write:probability=0.05 -> local_length; $noise" --ignore-output -- "$fragile"
    has several '^[12]\. crashed with SIGSEGV: [0-9]+ runs, '
    has several '^[12]\. ended with status 3: [0-9]+ runs, '
    has several '^40 runs, [0-9]+ failed in 2 ways$'
    [ "$(grep -c '^   faults that are needed:$' "$BATS_TEST_TMPDIR/several.out")" -eq 2 ]
    [ "$(grep -c '^     write ' "$BATS_TEST_TMPDIR/several.out")" -eq 2 ]
}

@test "explore: seeds, first seed and jobs do not change what is found" {
    rules="write:probability=0.1 -> local_length"
    explores 1 all --seeds 20 --jobs 1 --faults "$rules" --ignore-output --junit "$BATS_TEST_TMPDIR/all.xml" -- "$fragile"
    explores 1 part --seeds 10 --first-seed 11 --jobs 4 --faults "$rules" --ignore-output --junit "$BATS_TEST_TMPDIR/part.xml" -- "$fragile"
    python3 - "$BATS_TEST_TMPDIR/all.xml" "$BATS_TEST_TMPDIR/part.xml" <<'PYTHON'
import sys
from xml.etree import ElementTree
def failed(path):
    return {case.get('name'): case.find('failure') is not None for case in ElementTree.parse(path).getroot()}
all, part = failed(sys.argv[1]), failed(sys.argv[2])
assert list(all) == [f'seed {i}' for i in range(1, 21)], all
assert list(part) == [f'seed {i}' for i in range(11, 21)], part
assert any(part.values()) and not min(part.values()), part
assert part == {name: all[name] for name in part}, (all, part)
PYTHON
}

@test "explore: JSON, JUnit and what is kept say the same as the text" {
    start json "$tool" explore --only --seeds 3 --json --junit "$BATS_TEST_TMPDIR/junit.xml" --keep "$BATS_TEST_TMPDIR/kept" \
        --faults "write:nth=4 -> remote_access; $noise" --ignore-output -- "$fragile"
    wait "${process_of[json]}" || [ $? -eq 1 ]
    unset 'process_of[json]'
    "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/softverbs_explore.json" <"$BATS_TEST_TMPDIR/json.out"
    python3 - "$BATS_TEST_TMPDIR" <<'PYTHON'
import json, sys
from xml.etree import ElementTree
folder = sys.argv[1]
document = json.load(open(folder + '/json.out'))
finding, = document['findings']
rule = 'write program=fragile qp=1 nth=4 -> remote_access'
assert document['runs'] == 3 and not document['interrupted']
assert finding['outcome'] == 'crash' and finding['signal'] == 11 and finding['seeds'] == [1, 2, 3], finding
assert finding['shrunk'] and finding['rules'] == [rule] and rule in finding['log'], finding
suite = ElementTree.parse(folder + '/junit.xml').getroot()
assert suite.get('tests') == '3' and suite.get('failures') == '3'
failure = suite[0].find('failure')
assert failure.get('type') == 'crash' and failure.text.startswith(finding['command'] + '\n'), failure.text
kept = folder + '/kept/1/'
assert open(kept + 'command').read() == finding['command'] + '\n'
assert open(kept + 'rules').read() == rule + '\n'
assert open(kept + 'outcome').read() == 'crashed with SIGSEGV\n'
assert rule in open(kept + 'log').read()
PYTHON
    run env -u LD_PRELOAD timeout "$deadline_seconds" "$tool" run --only --faults "@$BATS_TEST_TMPDIR/kept/1/rules" "$fragile"
    [ "$status" -eq 139 ]
}

# usage: none_runs PID... - succeeds if none of the processes is alive.
none_runs() {
    local pid
    for pid; do ! kill -0 "$pid" 2>/dev/null || return 1; done
}

# usage: interrupted SIGNAL STATUS ARGUMENT... - interrupts a search while its command runs; no process of it may be left.
interrupted() {
    local signal=$1 wanted=$2 status=0 pids
    shift 2
    rm -f "$BATS_TEST_TMPDIR/pids"
    "${enter_network[@]}" "$tool" explore --only --jobs 1 --ignore-output "$@" \
        >"$BATS_TEST_TMPDIR/search.out" 2>"$BATS_TEST_TMPDIR/search.err" </dev/null 3>&- 8>&- &
    process_of[search]=$!
    eventually_alive search test -s "$BATS_TEST_TMPDIR/pids"
    read -ra pids <"$BATS_TEST_TMPDIR/pids"
    kill -0 "${pids[0]}" && kill -0 "${pids[1]}"
    kill -s "$signal" "${process_of[search]}"
    wait "${process_of[search]}" || status=$?
    unset 'process_of[search]'
    [ "$status" -eq "$wanted" ] || { echo "it ended with status $status"; return 1; }
    none_runs "${pids[@]}"
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "explore: an interrupt ends all processes of the runs, and reports what was found so far" {
    # The second run waits for ever, with a child in a session of its own.
    interrupted INT 1 --faults 'write:nth=4 -> local_length' --timeout 600 \
        -- sh -c 'case $SOFTVERBS_FAULTS_SEED in 2) unset SOFTVERBS_FAULTS; exec "$0" "$1" ;; *) exec "$0" ;; esac' "$fragile" "$BATS_TEST_TMPDIR/pids"
    grep -qx '1 run, 1 failed in 1 way, interrupted by SIGINT' "$BATS_TEST_TMPDIR/search.out"
    grep -q '^1\. ended with status 3: 1 run, seed 1$' "$BATS_TEST_TMPDIR/search.out"
    interrupted TERM 143 --faults "$noise" --timeout 600 \
        -- sh -c 'case $SOFTVERBS_FAULTS_SEED in 2) exec "$0" "$1" ;; *) exec "$0" ;; esac' "$fragile" "$BATS_TEST_TMPDIR/pids"
    grep -qx '1 run, 0 failed, interrupted by SIGTERM' "$BATS_TEST_TMPDIR/search.out"
}

# The process that ends the runs removes their directory at last.
nothing_is_left() { none_runs "$@" && [ -z "$(ls -A "$TMPDIR")" ]; }

@test "explore: the runs end when the search is killed" {
    "${enter_network[@]}" "$tool" explore --only --jobs 1 --ignore-output --faults "$noise" --timeout 600 \
        -- sh -c '[ -z "$SOFTVERBS_FAULTS" ] || exec "$0" "$1"' "$fragile" "$BATS_TEST_TMPDIR/pids" \
        >"$BATS_TEST_TMPDIR/search.out" 2>"$BATS_TEST_TMPDIR/search.err" </dev/null 3>&- 8>&- &
    process_of[search]=$!
    eventually_alive search test -s "$BATS_TEST_TMPDIR/pids"
    read -ra pids <"$BATS_TEST_TMPDIR/pids"
    kill -KILL "${process_of[search]}"
    wait "${process_of[search]}" || true
    unset 'process_of[search]'
    eventually nothing_is_left "${pids[@]}"
}

@test "explore: a run that hangs is ended with the processes that it has put in the background" {
    explores 1 hang --seeds 1 --timeout "$(scaled 1)" --faults "$noise" --ignore-output \
        -- sh -c '[ -z "$SOFTVERBS_FAULTS" ] || exec "$0" "$1"' "$fragile" "$BATS_TEST_TMPDIR/pids"
    read -ra pids <"$BATS_TEST_TMPDIR/pids"
    none_runs "${pids[@]}"
}

@test "explore: a run has a fabric, a directory for temporary files and a log of its own" {
    explores 0 own --seeds 3 --faults "$noise" --ignore-output \
        -- sh -c '[ -d "$TMPDIR" ] && echo "$TMPDIR $SOFTVERBS_FABRIC $SOFTVERBS_FAULTS_LOG" >>"$0"' "$BATS_TEST_TMPDIR/places"
    # The first run is without faults, and so without a log.
    [ "$(wc -l <"$BATS_TEST_TMPDIR/places")" -eq 4 ]
    [ "$(tr ' ' '\n' <"$BATS_TEST_TMPDIR/places" | grep -c .)" -eq 11 ]
    [ "$(tr ' ' '\n' <"$BATS_TEST_TMPDIR/places" | grep . | sort -u | wc -l)" -eq 11 ]
}

@test "explore: wrong usage and a command that fails without faults are 2, with the reason" {
    refuses none 'softverbs explore' 2 '--faults is required' "$tool" explore -- true
    refuses empty 'softverbs explore' 2 'no command is named behind --' "$tool" explore --faults "$noise"
    refuses rule 'softverbs explore' 2 "--faults: line 1: 'rety_exceeded', did you mean 'retry_exceeded'" \
        "$tool" explore --faults 'write -> rety_exceeded' -- true
    refuses fails 'softverbs explore' 2 'without faults the command ended with status 4; its last line of errors: so$' \
        "$tool" explore --faults "$noise" -- sh -c 'echo so >&2; exit 4'
    refuses slow 'softverbs explore' 2 'without faults the command has not ended after 0.5 s' \
        "$tool" explore --timeout 0.5 --faults "$noise" -- sleep 600
    refuses unsteady 'softverbs explore' 2 'two runs without faults printed different outputs: ' \
        "$tool" explore --faults "$noise" -- sh -c 'echo $$'
    refuses missing 'softverbs explore' 2 'without faults the command ended with status 127' \
        "$tool" explore --faults "$noise" -- no-such-program
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "explore: MPI jobs are explored as a whole" {
    need_package openmpi-bin mpirun
    root=()
    [ "$EUID" -ne 0 ] || root=(--allow-run-as-root)
    explores 1 job --seeds 1 --faults "write:rank=1,nth=4 -> local_length; $noise" --ignore-output \
        -- mpirun "${root[@]}" --oversubscribe -np 2 "$fragile"
    has job '^     write program=fragile rank=1 qp=1 nth=4 -> local_length$'
    has job '^1\. ended with status 3: 1 run, seed 1$'
}
