#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs dat_perf over soft0, and on Debian's DAT stack: what it prints, and what it does when
# something is wrong. No times are judged.
load ../compat/helpers

setup() {
    need_program jq
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
    dat_perf=$TOP_BUILDDIR/.libs/dat_perf
    few=(-P ia -n 20 -w 5)
}
teardown() { stop_all; }

# usage: measures OPTIONS... - runs client and server in one go; the result goes to perf.out.
measures() {
    run_to_end perf "${stack[@]}" "$dat_perf" --both "${few[@]}" "$@"
    is_silent perf
}

# usage: json FILTER - FILTER must hold for the document in perf.out.
json() {
    jq -e "$1" "$BATS_TEST_TMPDIR/perf.out" >/dev/null || { echo "the document lacks: $1"; return 1; }
}

# usage: fails NAME STATUS PATTERN - the process must end with STATUS, nothing on standard output
# and one line like PATTERN on standard error.
fails() {
    local status=0
    wait "${process_of[$1]}" || status=$?
    unset "process_of[$1]"
    [ "$status" -eq "$2" ] || { echo "$1 ended with status $status (124: by the deadline)"; return 1; }
    [ ! -s "$BATS_TEST_TMPDIR/$1.out" ] || { echo "$1 wrote to standard output"; return 1; }
    [ "$(grep -c '^dat_perf: ' "$BATS_TEST_TMPDIR/$1.err")" -eq 1 ] || { echo "not one line from $1"; return 1; }
    grep -qE "^dat_perf: $3" "$BATS_TEST_TMPDIR/$1.err" || { echo "$1 did not tell '$3'"; return 1; }
}

operations='send write write-immediate read fetch-add compare-swap'

@test "dat_perf over soft0: every operation, polling and blocking: latencies, each byte checked" {
    measures -t latency -c polling,blocking -s 1,8,4K,100K --check --json
    for operation in $operations; do
        for completion in polling blocking; do
            json "[.results[] | select(.operation == \"$operation\" and .completion == \"$completion\")] |
                length == (if .[0].size == 8 then 1 else 4 end) and all(.[]; .operations == 20 and .warm_up_operations == 5)"
        done
    done
    json 'all(.results[].latency_us; 0 < .min and .min <= .p50 and .p50 <= .p99 and .p99 <= ."p99.9" and ."p99.9" <= .max)'
    json 'all(.results[]; ([.histogram[].count] | add) == .operations)'
    json '[.results[] | select(.latency_of == "post to completion") | .operation] | unique ==
        ["compare-swap", "fetch-add", "read", "write"]'
    fabric_is_clean
}

@test "dat_perf over soft0: every operation, polling and blocking, one and two directions: bandwidth and rate, each byte checked" {
    measures -t bandwidth,rate -c polling,blocking -d one,two -s 8,70000 -n 300 --check --json
    for operation in $operations; do
        for test in bandwidth rate; do
            json "[.results[] | select(.operation == \"$operation\" and .test == \"$test\")] |
                length == (if .[-1].size == 8 then 4 else 8 end) and
                all(.[]; .operations == (if .direction == \"two\" then 600 else 300 end) and
                    .messages_per_second > 0 and .bytes_per_second > 0)"
        done
    done
    json 'all(.results[]; has("latency_us") | not)'
}

@test "dat_perf over soft0: several threads with several endpoints" {
    measures -T 3 -E 4 -s 8,4K -d one,two -c polling,blocking --check --json
    json '.threads == 3 and .endpoints == 4'
    json 'all(.results[]; .operations == 240 or (.direction == "two" and .operations == 480))'
}

@test "dat_perf over soft0: a queue of one request, and a signal for each" {
    measures --depth 1 -s 8,4K -d one,two --check --json
    measures --depth 7 --signal-rate 1 -s 8 -n 100 --check --json
    json '.depth == 7 and .signal_rate == 1'
}

@test "dat_perf over soft0: sizes up to 256 MiB, in the long run 1 GiB" {
    local sizes=64M,256M wanted='67108864, 268435456'
    ! is_long_run || { sizes=256M,1G wanted='268435456, 1073741824'; }
    measures -t bandwidth -o write,read -s "$sizes" -n 1 -w 1 --json
    json "[.results[].size] == [$wanted, $wanted]"
}

@test "dat_perf over soft0: both ends on one processor" {
    measures --cpu 0 --peer-cpu 0 -s 8 -n 200 --json
    json '.results | length == 18'
}

@test "dat_perf over soft0: memory that the library gives, and ordinary memory" {
    measures -s 8,70000 -m library --check --json
    json '.memory == "library"'
    measures -s 8 --json
    json '.memory == "library"'
    measures -s 8,70000 -m ordinary --check --json
    json '.memory == "ordinary"'
}

@test "dat_perf over soft0: registrations, with and without a write between" {
    measures -t latency -o register,register-write -s 4K,1M --check --json
    json '[.results[].operation] == ["register", "register", "register-write", "register-write"]'
}

@test "dat_perf over soft0: chooses how many operations fit into the time" {
    run_to_end perf "${stack[@]}" "$dat_perf" --both -P ia --seconds 0.02 -o write -t latency,rate -s 8 --json
    is_silent perf
    json 'all(.results[]; .operations > 1 and .warm_up_operations >= 1)'
}

@test "dat_perf over soft0: client and server, each started by itself" {
    start server "${stack[@]}" "$dat_perf" -P ia
    run_to_end client "${stack[@]}" "$dat_perf" "${few[@]}" -s 8 127.0.0.1
    await_end server
    is_silent server client
    [ ! -s "$BATS_TEST_TMPDIR/server.out" ]
    has client '^latency, us +size +completion +operations +min +p50 +p99 +p99\.9 +max +average$'
    has client '^write +8 B polling +20( +[0-9]+\.[0-9]{3}){6}$'
    has client '^send +8 B polling +one +20 +[0-9.]+ +[0-9]+$'
    fabric_is_clean
}

@test "dat_perf shows how latencies are spread (--histogram)" {
    measures -t latency -o read -s 8 --histogram
    [ "$(awk '$2 == "us" && $4 ~ /^#*$/ { sum += $3 } END { print sum }' "$BATS_TEST_TMPDIR/perf.out")" -eq 20 ]
}

# usage: interrupt LINE OPTIONS... - sends SIGINT, as Ctrl-C does, once a line like LINE is in
# perf.out or, if LINE is empty, once both sides are connected; the output goes to perf.out and
# perf.err.
interrupt() {
    local status=0 line=$1
    shift
    start perf "${stack[@]}" "$dat_perf" --both -i ia "$@"
    if [ -n "$line" ]; then await_line perf "$line"; else eventually_alive perf both_connected; fi
    kill -INT "$(pgrep -P "${process_of[perf]}")"
    wait "${process_of[perf]}" || status=$?
    unset 'process_of[perf]'
    [ "$status" -eq 130 ] || { echo "it ended with status $status"; return 1; }
    grep -qE '^dat_perf: interrupted after [0-9]+ of [0-9]+ measurements$' "$BATS_TEST_TMPDIR/perf.err"
}
both_connected() { [ "$(grep -c softverbs-arena "/proc/$(pgrep -P "${process_of[perf]}")/maps")" -ge 2 ]; }

@test "dat_perf prints each row when it has it, and after Ctrl-C ends with those that it has" {
    interrupt '^send +8 B polling ' --test latency -o send,write -s 8,16,32,64 --seconds 1
    rows=$(grep -cE '^(send|write) ' "$BATS_TEST_TMPDIR/perf.out")
    [ "$rows" -ge 1 ] && [ "$rows" -lt 8 ]
    grep -q "^dat_perf: interrupted after $rows of 8 measurements$" "$BATS_TEST_TMPDIR/perf.err"
    # The same in the middle of a measurement that would last for minutes, with the result as a
    # document.
    for options in '--test latency -o send' '--test latency -o write' '--test rate -o write' '--test latency -o send -c blocking'; do
        # shellcheck disable=SC2086 # words
        interrupt '' $options -s 8 -n 1000000000 -w 1 --json
        json '.results == []'
    done
    fabric_is_clean
}

@test "dat_perf draws its results (--plot): a panel for each test, a line for each operation" {
    need_program python3
    measures --test latency,bandwidth -o write,read -s 8-64 --plot "$BATS_TEST_TMPDIR/plot.svg"
    python3 - "$BATS_TEST_TMPDIR/plot.svg" <<'END'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
name = "{http://www.w3.org/2000/svg}"
lines = [path.get("d") for path in root.iter(name + "path") if path.get("class") == "line"]
assert len(lines) == 4 and all(line.count("L") == 3 for line in lines), lines
texts = [text.text for text in root.iter(name + "text")]
assert "latency, median, us" in texts and "bandwidth, MB/s" in texts and texts.count("read") == 2, texts
END
    start perf "${stack[@]}" "$dat_perf" --both "${few[@]}" --test rate -o write -s 8 --plot /nonexistent/plot.svg
    status=0
    wait "${process_of[perf]}" || status=$?
    unset 'process_of[perf]'
    [ "$status" = 1 ]
    grep -q '^dat_perf: write /nonexistent/plot.svg: No such file' "$BATS_TEST_TMPDIR/perf.err"
}

@test "dat_perf shows on a terminal how far it is, unless --quiet" {
    need_program script
    terminal() { run_to_end perf script -qec "env ${stack[*]} TERM=xterm $dat_perf --both -i ia --test latency -o write,read -s 8 --seconds 0.01 $*" /dev/null; }
    terminal
    grep -qE '1 of 2: latency of write, 8 B, about [0-9]+ s left' "$BATS_TEST_TMPDIR/perf.out"
    grep -qE '2 of 2: latency of read, 8 B' "$BATS_TEST_TMPDIR/perf.out"
    terminal --quiet
    never grep -q '1 of 2' "$BATS_TEST_TMPDIR/perf.out"
}

@test "dat_perf: a client that finds no server says that it is waiting, and for what" {
    start client "${stack[@]}" "$dat_perf" "${few[@]}" --test rate -o write -s 8 127.0.0.1
    eventually_alive client grep -q '^dat_perf: waiting for the server at 127.0.0.1 TCP port 15829 (Connection refused); dat_perf without a HOST starts one there$' \
        "$BATS_TEST_TMPDIR/client.err"
    start server "${stack[@]}" "$dat_perf" -i ia
    await_end client
    await_end server
    has client '^write +8 B polling '
}

@test "dat_perf on Debian's DAT stack: the same program measures it" {
    need_library libdat2.so.2 libdaplofa.so.2
    use_stack debian "$(installed libdaplofa.so.2)" 'lo 0' preload
    measures -s 8,4K -d one,two --check --json
    json "[.results[].operation] | unique == (\"$operations\" | split(\" \") | sort)"
    json '.provider == "ia" and .memory == "ordinary"'
    start perf "${stack[@]}" "$dat_perf" --both "${few[@]}" -m library
    fails perf 1 '(the other side failed: )?dat_opendat_memory_alloc: no [0-9]+ bytes from this provider.s library: .*--memory ordinary'
}

@test "dat_perf --json: the keys are those that dat_perf(1) and the schema describe" {
    need_program mandoc
    [ -e "$TOP_BUILDDIR/doc/man/dat_perf.1" ] || missing "scdoc was not installed when the manual pages were built"
    measures -t latency,rate -o write -s 8 --json
    jq -r '[paths | map(select(type == "string"))[-1]] | unique[] | select(. != null)' "$BATS_TEST_TMPDIR/perf.out" |
        sort -u >"$BATS_TEST_TMPDIR/keys"
    sed -n '/^# JSON/,/^# EXIT/p' "$TOP_SRCDIR/doc/man/dat_perf.1.scd" | grep -v 'dat.conf' | grep -oE '\*[a-z0-9_.]+\*' | tr -d '*' |
        sort -u >"$BATS_TEST_TMPDIR/described"
    diff "$BATS_TEST_TMPDIR/keys" "$BATS_TEST_TMPDIR/described"
    json '.tool == "dat_perf" and .version == 1'
    "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/dat_perf.json" <"$BATS_TEST_TMPDIR/perf.out"
    json 'all(.results[]; (.size | type) == "number" and (.seconds | type) == "number" and (.test | type) == "string")'
}

@test "dat_perf: wrong usage is told on standard error, with status 2" {
    for wrong in '--size=0' '--size=2G' '--operation=fly' '--both host' '--nosuch' '--threads=0'; do
        # shellcheck disable=SC2086 # a list of words
        start wrong "${stack[@]}" "$dat_perf" $wrong
        fails wrong 2 ".*dat_perf --help lists the options"
    done
}

@test "dat_perf: an unknown provider is told once, by the call, the code and the next step" {
    start perf "${stack[@]}" "$dat_perf" --both -P nosuch
    fails perf 1 'dat_ia_open nosuch: DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED .*expected DAT_SUCCESS; see the preceding message'
}

@test "dat_perf: a client tells that the server could not open its provider, and why" {
    start server "${stack[@]}" "$dat_perf" -P nosuch
    start client "${stack[@]}" "$dat_perf" "${few[@]}" 127.0.0.1
    fails server 1 'dat_ia_open nosuch: '
    fails client 1 'the other side failed: dat_ia_open nosuch: DAT_PROVIDER_NOT_FOUND'
}

@test "dat_perf: a client without a server gives up at its deadline" {
    start client "${stack[@]}" "$dat_perf" --timeout 1 127.0.0.1
    fails client 1 'connect to 127\.0\.0\.1 TCP port 15829: Connection refused: expected a dat_perf server within 1 seconds'
}

@test "dat_perf: a processor that is not there is told" {
    start perf "${stack[@]}" "$dat_perf" --both "${few[@]}" --cpu 100000
    fails perf 1 'pin to processor 100000: '
}

# usage: peer_dies VICTIM SURVIVOR OPTIONS... - kills VICTIM in the middle of a measurement that
# would last for minutes.
peer_dies() {
    local victim=$1 survivor=$2 victims
    shift 2
    start server "${stack[@]}" "$dat_perf" -P ia
    start client "${stack[@]}" "$dat_perf" -P ia -n 1000000000 -w 1 "$@" 127.0.0.1
    eventually_alive client connected
    victims=$(pgrep -P "${process_of[$victim]}")
    # shellcheck disable=SC2086 # a list of ids
    kill -KILL $victims
    fails "$survivor" 1 '(connection|wait|post|send|write|read|receive of|dat_|the other side)'
    wait "${process_of[$victim]}" || true
    unset "process_of[$victim]"
}
# The server maps the client's arena when the connection is made.
connected() {
    local server
    server=$(pgrep -P "${process_of[server]}") && [ "$(grep -c softverbs-arena "/proc/$server/maps")" -ge 2 ]
}

@test "dat_perf: when the server is killed in the middle, the client says so and ends" {
    for options in '-t latency -o send' '-t latency -o write' '-t latency -o send -c blocking' '-t rate -o write' '-t rate -o send -d two'; do
        echo "options: $options"
        # shellcheck disable=SC2086 # a list of words
        peer_dies server client -s 8 $options
    done
}

@test "dat_perf: when the client is killed in the middle, the server says so and ends" {
    for options in '-t latency -o send' '-t latency -o write' '-t latency -o read' '-t rate -o send -c blocking'; do
        echo "options: $options"
        # shellcheck disable=SC2086 # a list of words
        peer_dies client server -s 8 $options
    done
}
