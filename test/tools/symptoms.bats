#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Produces the messages of doc/guides/troubleshooting.md by fault rules and settings, as the table
# test/tools/symptoms says.
# shellcheck disable=SC2154 # helpers and examples.bash set ours
load ../compat/helpers
load examples.bash

table=$TOP_SRCDIR/test/tools/symptoms
ping=("$TOP_BUILDDIR/dat_ping" --count 4 --interval 0.01)

setup() { start_network; }
teardown() { stop_all; }

@test "the table has each message of the catalogue once" {
    "$TOP_BUILDDIR/dat_strerror" --list --json >"$BATS_TEST_TMPDIR/catalogue"
    python3 - "$BATS_TEST_TMPDIR/catalogue" "$table" <<'PYTHON'
import json, re, sys
known = sorted(entry["name"] for entry in json.load(open(sys.argv[1]))["entries"] if entry["kind"] == "message")
listed = []
for line in open(sys.argv[2]):
    if line.startswith("DAT"):
        first, last = re.match(r"DAT(\d+)(?:-DAT(\d+))? [|=] ", line).groups()
        listed += [name for name in known if int(first) <= int(name[3:]) <= int(last or first)] or ["none of " + line]
assert sorted(listed) == known, set(known) ^ set(listed) or [name for name in listed if listed.count(name) > 1]
PYTHON
}

# usage: record FILE LIBRARY PARAMETERS
record() { printf 'soft0 u2.0 nonthreadsafe default %s dapl.2.0 "%s" ""\n' "$2" "$3" >"$folder/$1.conf"; }

prepare() {
    folder=$BATS_TEST_TMPDIR/files
    mkdir -p "$folder" "$folder/shared"
    mkdir -m 700 "$folder/tables"
    chmod 777 "$folder/shared"
    record cma libdaplsoft.so.2 'soft0 0'
    record scm libdaploscm.so.2 'soft0 1'
    record ucm libdaploucm.so.2 'soft0 1'
    record ofa libdaplofa.so.2 'lo 0'
    echo '# nothing' >"$folder/empty.conf"
    record nowhere libdaplsoft.so.2 'nowhere 0'
    record missing libdaploscm.so.2 'soft7 1'
    record port libdaploscm.so.2 'soft0 9'
}

# usage: with MANAGER [ASSIGNMENT]... -- COMMAND... - puts the command with its environment into ${command[@]}.
with() {
    local conf=$1
    shift
    command=(env "LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs" "DAT_OVERRIDE=$folder/$conf.conf")
    [ "$conf" = cma ] || command+=("LD_PRELOAD=$softverbs")
    while [ "$1" != -- ]; do command+=("$1"); shift; done
    shift
    command+=("$@")
}

# usage: run_symptom PROGRAM ASSIGNMENT... - starts `program`, whose standard error is to have the message, and its peer.
run_symptom() {
    local program=$1 manager=cma
    shift
    case $program in *-scm) manager=scm ;; *-ucm) manager=ucm ;; *-ofa) manager=ofa ;; esac
    case $program in
        ping*)
            with "$manager" -- "$TOP_BUILDDIR/dat_ping" --listen
            start server "${command[@]}"
            await_line server listen
            with "$manager" "$@" -- "${ping[@]}" 127.0.0.1
            ;;
        open-other) with cma "$@" -- "${ping[@]}" --ia nowhere 127.0.0.1 ;;
        open-far) with cma "$@" -- "${ping[@]}" 192.0.2.1 ;;
        open*) with "$manager" "$@" -- "${ping[@]}" 127.0.0.1 ;;
        listen) with cma "$@" -- "$TOP_BUILDDIR/dat_ping" --listen ;;
        datagrams)
            with cma -- "$TOP_BUILDDIR/dtest_ext" -u
            start server "${command[@]}"
            await_port server 15828
            with cma "$@" -- "$TOP_BUILDDIR/dtest_ext" -u -h 127.0.0.1
            ;;
        tries)
            sed -i 'p;s/soft0/soft1/g' "$folder/cma.conf"
            with cma SOFTVERBS_DEVICES=2 -- "$(example failover)" server soft0 soft1 4700
            start server "${command[@]}"
            await_line server listening
            with cma SOFTVERBS_DEVICES=2 "$@" -- "$(example failover)" client soft0 127.0.0.1 soft1 127.0.0.2 4700
            ;;
    esac
    start program "${command[@]}"
}

end_symptom() {
    local name
    for name in program server; do
        [ -n "${process_of[$name]:-}" ] || continue
        pkill -KILL -P "${process_of[$name]}" || true
        wait "${process_of[$name]}" 2>/dev/null || true
        unset "process_of[$name]"
    done
    prepare_again
}

# The next row has a fabric and files of its own.
prepare_again() {
    rm -rf "$folder" "${fabric:?}"/*
    prepare
}

# usage: produces ID PROGRAM ENVIRONMENT PATTERN
produces() {
    local id=$1 program=$2 assignments=() text
    text=${3//\$folder/$folder}
    while [ -n "$text" ]; do
        assignments+=("${text%% && *}")
        [[ $text == *' && '* ]] && text=${text#* && } || text=
    done
    assignments=("${assignments[@]/#RULES=/SOFTVERBS_FAULTS=}")
    if ! run_symptom "$program" "${assignments[@]}" ||
        ! eventually_alive program grep -qE "($4).*\[$id\]$" "$BATS_TEST_TMPDIR/program.err"; then
        echo "$id: $program with '$3':"
        cat "$BATS_TEST_TMPDIR"/*.err
        failed=true
    fi
    end_symptom 2>/dev/null
}

# usage: for_section TEXT - produces all messages of the table's section.
for_section() {
    local id program environment pattern count=0 section='' failed=false
    prepare
    while IFS= read -r line; do
        [[ $line != '# '* ]] || section=${line#\# }
        [[ $section = "$1" && $line = DAT*' | '* ]] || continue
        IFS='|' read -r id program environment pattern <<<"${line// | /|}"
        produces "$id" "$program" "$environment" "$pattern"
        count=$((count + 1))
    done <"$table"
    [ "$count" -ge 4 ] || { echo "$count messages in '$1'"; return 1; }
    ! $failed
}

@test "symptoms: an adapter that cannot be opened" { for_section 'An adapter cannot be opened'; }
@test "symptoms: memory, queues and descriptors" { for_section 'Memory, queues and descriptors'; }
@test "symptoms: connections and transfers" { for_section 'Connections and transfers'; }
@test "symptoms: the software device" { for_section 'The software device soft0'; }
@test "symptoms: settings, logs and tools" { for_section 'Settings, logs and tools'; }
