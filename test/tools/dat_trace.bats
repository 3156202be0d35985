#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs dat_trace on real programs: two ends of a connection over soft0, core files, and what it
# prints when it cannot read them.
load ../compat/helpers

setup() {
    need_program jq
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
    dat_perf=$TOP_BUILDDIR/.libs/dat_perf
    dat_trace=$TOP_BUILDDIR/dat_trace
    [ ! -x "$TOP_BUILDDIR/.libs/dat_trace" ] || dat_trace=$TOP_BUILDDIR/.libs/dat_trace
}
teardown() { stop_all; }

# usage: pid_of NAME - prints that of the program that `start` has started, behind timeout and env.
pid_of() {
    local pid=${process_of[$1]} child
    while child=$(pgrep -P "$pid" | head -n 1) && [ -n "$child" ]; do pid=$child; done
    echo "$pid"
}

# Starts two ends of one connection that works until the test is over.
start_ends() {
    start server "${stack[@]}" "$dat_perf" -P ia
    start client "${stack[@]}" "$dat_perf" -P ia -t latency -o send -s 8 --seconds 3000 127.0.0.1
    eventually_alive client is_connected
    server_pid=$(pid_of server)
    client_pid=$(pid_of client)
}
is_connected() {
    "$dat_trace" "$(pid_of client)" 2>/dev/null >"$BATS_TEST_TMPDIR/seen" &&
        grep -q -- '-> CONNECTED' "$BATS_TEST_TMPDIR/seen"
}

# usage: traced OPTIONS... - runs dat_trace; its output goes to trace.out.
traced() {
    run_to_end trace "$dat_trace" "$@"
    is_silent trace
}

# usage: json FILTER - FILTER must hold for the document in trace.out, and the document must match
# its schema.
json() {
    "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/dat_trace.json" <"$BATS_TEST_TMPDIR/trace.out"
    jq -e "$1" "$BATS_TEST_TMPDIR/trace.out" >/dev/null || { echo "the document lacks: $1"; return 1; }
}

# usage: fails STATUS PATTERN OPTIONS... - it must print one line like this on standard error and
# nothing on standard output.
fails() { refuses trace dat_trace "$@"; }

@test "dat_trace PID shows the levels of all libraries and the timeline of all threads of a running program" {
    start_ends
    traced "$client_pid"
    has trace "^A: process $client_pid, dat_perf"
    has trace '^   libdat2\.so\.2[.0-9]*: DAT level [0-9]+, [1-9][0-9]* threads, [1-9][0-9]* events'
    has trace '^   libdaplsoft\.so\.2[.0-9]*: DAPL level 3, [1-9][0-9]* threads, [1-9][0-9]* events'
    has trace '^[0-9:]{8}\.[0-9]{9} A [0-9]+ .*EP [0-9a-f]+ dat_ep_connect = 0x0'
    traced "$client_pid" --json
    json '.version == 1 and (.sources | length) == 1 and (.events | length) > 10'
    json '[.events[].time_us] | . == sort'
    json '[.events[].hook] | unique - ["0x5c3", "0x5c4", "0x5c7", "0x5c8"] == []'
}

@test "dat_trace --hooks shows only events with these hook ids, of one process and of both ends of a connection" {
    start_ends
    traced "$client_pid" --json
    json '[.events[].hook] | unique | contains(["0x5c3", "0x5c7"])'
    traced "$client_pid" --hooks 5C7 --json
    json '[.events[].hook] | unique == ["0x5c7"]'
    traced "$client_pid" --hooks 0x5c3,5C4 --json
    json '[.events[].hook] | unique - ["0x5c3", "0x5c4"] == [] and length > 0'
    traced "$client_pid" --hooks 5C3-5C8 --hooks 5C7 --json
    json '[.events[].hook] | unique | contains(["0x5c3", "0x5c7"])'
    traced "$client_pid" --hooks 5C7
    has trace '^   libdaplsoft\.so\.2[.0-9]*: DAPL level 3'
    has trace ' DAT .*dat_ep_connect'
    never grep -q ' DAPL  ' "$BATS_TEST_TMPDIR/trace.out"
    traced "$server_pid" "$client_pid" --hooks 5C3 --json
    json 'any(.connections[]; [.ends[].source] | unique == ["A", "B"])'
    json '[.events[].hook] | unique == ["0x5c3"]'
}

@test "dat_trace --object shows only events of this object, and of its connection at both ends" {
    start_ends
    traced "$server_pid" "$client_pid" --json
    local client evd
    client=$(jq -r '[.connections[0].ends[] | select(.source == "B") | .object][0]' "$BATS_TEST_TMPDIR/trace.out")
    traced "$server_pid" "$client_pid" --object "$client" --json
    json 'any(.events[]; .source == "B" and (.text | test("sent request")))'
    json 'any(.events[]; .source == "A" and (.text | test("received request")))'
    json 'all(.events[]; .side == "DAPL")'
    json 'all(.events[]; .connection == 1 or (.text | test("created EP")))'
    json 'any(.events[]; .text | test("dat_ep_create.* = 0x0, created EP"))'
    traced "$client_pid" --object "${client#0x}"
    has trace 'EP .*dat_ep_connect = 0x0'
    never grep -q 'dat_evd_create(' "$BATS_TEST_TMPDIR/trace.out"
    # An EVD has no connection: there are only the events that name it.
    evd=$(sed -n 's/.*created EVD \([0-9a-f]*\).*/\1/p' < <("$dat_trace" "$client_pid") | head -n 1)
    traced "$client_pid" --object "$evd" --json
    json "all(.events[]; .object == \"0x$evd\" or (.text | test(\"EVD $evd\")))"
    fails 1 'object 123456: no event is about it: expected an object of these processes whose events are still kept; ' \
        "$dat_trace" --object 123456 "$client_pid"
}

@test "dat_trace --perfetto writes trace events: both ends, calls and states as slices, messages as flows" {
    start_ends
    traced "$server_pid" "$client_pid" --perfetto "$BATS_TEST_TMPDIR/events.json"
    has trace 'events.json is written: open it at https://ui.perfetto.dev'
    events() { jq -e "$1" "$BATS_TEST_TMPDIR/events.json" >/dev/null || { echo "the events lack: $1"; return 1; }; }
    events '[.traceEvents[] | select(.ph == "M" and .name == "process_name") | .args.name] | length == 2 and all(test("dat_perf process [0-9]+"))'
    events 'all(.traceEvents[]; (.pid | . == 1 or . == 2) and (.tid | type == "number") and (.name | type == "string"))'
    events 'all(.traceEvents[] | select(.ph != "M"); .ts >= 0)'
    events 'all(.traceEvents[] | select(.ph == "X"); .dur > 0)'
    events 'any(.traceEvents[]; .ph == "X" and .name == "dat_ep_connect" and .pid == 2)'
    for pid in 1 2; do events "any(.traceEvents[]; .ph == \"X\" and .name == \"CONNECTED\" and .pid == $pid)"; done
    # Each flow must begin at one end and arrive at the other, not before.
    events '[.traceEvents[] | select(.ph == "s" or .ph == "f")] | group_by(.id) | length > 0 and
        all(.[]; length == 2 and ([.[].pid] | unique == [1, 2]) and
            ((map(select(.ph == "s"))[0].ts) <= (map(select(.ph == "f"))[0].ts)))'
    # There must be a slice where each flow begins and ends.
    events '[.traceEvents[] | select(.ph == "X") | [.pid, .tid, .ts]] as $slices |
        all(.traceEvents[] | select(.ph == "s" or .ph == "f"); [.pid, .tid, .ts] as $at | $slices | index([$at]))'
    fails 2 '--perfetto cannot be combined with ' "$dat_trace" --perfetto x --json 1
}

@test "dat_trace PID PID prints one timeline of the two ends of a connection, each event with its connection" {
    start_ends
    traced "$server_pid" "$client_pid" --json
    json 'any(.connections[]; [.ends[].source] | unique == ["A", "B"])'
    json '[.events[].source] | unique == ["A", "B"]'
    json 'all(.events[]; .connection != null)'
    json '[.events[].time_us] | . == sort'
    json '[.events[].text | test("sent request")] | index(true)'
    json '([.events[].text | test("sent request")] | index(true)) < ([.events[].text | test("received request")] | index(true))'
    traced "$server_pid" "$client_pid" --all --json
    json 'any(.events[]; .connection == null)'
}

@test "dat_trace --dapl and --dat change the levels of a running program, which then tells more" {
    start_ends
    traced "$client_pid" --dapl 6 --dat 5
    has trace '^libdaplsoft\.so\.2[.0-9]*: DAPL level 3 -> 6$'
    has trace '^libdat2\.so\.2[.0-9]*: DAT level .* -> 5$'
    has_posts() {
        "$dat_trace" "$client_pid" >"$BATS_TEST_TMPDIR/seen" && grep -q 'dat_ep_post_send' "$BATS_TEST_TMPDIR/seen"
    }
    eventually has_posts
    traced "$client_pid" --json
    json '[.sources[0].libraries[] | select(.side == "DAPL") | .level] == [6]'
    json '[.sources[0].libraries[] | select(.side == "DAT") | .level] == [5]'
}

@test "dat_trace --save keeps a trace in a file" {
    start_ends
    traced "$client_pid" --save "$BATS_TEST_TMPDIR/client.trace"
    [ ! -s "$BATS_TEST_TMPDIR/trace.out" ]
    traced "$BATS_TEST_TMPDIR/client.trace" --json
    json ".sources[0].pid == $client_pid and .sources[0].program == \"dat_perf\""
    json 'any(.events[]; .text | test("dat_ep_connect = 0x0"))'
}

@test "dat_trace FILE FILE merges what was saved of the two ends" {
    start_ends
    traced "$server_pid" --save "$BATS_TEST_TMPDIR/server.trace"
    traced "$client_pid" --save "$BATS_TEST_TMPDIR/client.trace"
    traced "$BATS_TEST_TMPDIR/server.trace" "$BATS_TEST_TMPDIR/client.trace" --json
    json 'any(.connections[]; [.ends[].source] | unique == ["A", "B"])'
    json '[.sources[].program] == ["dat_perf", "dat_perf"]'
}

@test "dat_trace --core shows what a program did last that was killed by abort" {
    [[ $(cat /proc/sys/kernel/core_pattern) != \|* ]] || skip "the system gives core files to a program"
    ulimit -c unlimited 2>/dev/null || skip "no core files are allowed here"
    echo 0x33 >/proc/self/coredump_filter # the kernel's default
    cd "$BATS_TEST_TMPDIR"
    start_ends
    kill -ABRT "$client_pid"
    wait "${process_of[client]}" || true
    unset 'process_of[client]'
    local files
    files=$(find "$BATS_TEST_TMPDIR" / -maxdepth 1 -name 'core*' -type f -newer "$BATS_TEST_TMPDIR/dat.conf" 2>/dev/null | head -n 1)
    [ -n "$files" ] || skip "the kernel has written no core file"
    ls -l "$files"
    (($(stat -c %s "$files") < 64 << 20))
    traced --core "$files" --json
    json ".sources[0].pid == $client_pid and .sources[0].program == \"dat_perf\""
    json 'any(.events[]; .text | test("dat_ep_connect = 0x0"))'
    head -c 100000 "$files" >cut
    fails 1 'core file cut: it lacks the memory of its DAT libraries: expected a complete core file; ' "$dat_trace" --core cut
}

@test "dat_trace says what is wrong: no process, no library of ours, no file, no core file, another user's process" {
    fails 1 'process 999999: No such process: expected a process that is running; ' "$dat_trace" 999999
    fails 1 "process $$: it has no DAT library in its memory: expected a program that uses" "$dat_trace" "$$"
    fails 1 '/nowhere: No such file or directory: expected a core file' "$dat_trace" /nowhere
    fails 1 '.*dat.conf: unknown format: expected a core file or a file that --save wrote; ' "$dat_trace" "$BATS_TEST_TMPDIR/dat.conf"
    fails 1 ".*$TOP_BUILDDIR.*libdat2.so.2: unknown format: " "$dat_trace" --core "$TOP_BUILDDIR/.libs/libdat2.so.2"
}

@test "dat_trace says who may look when the kernel refuses" {
    [ "$(id -u)" -eq 0 ] || skip "only root can be another user"
    command -v setpriv >/dev/null || missing "setpriv is not installed"
    start_ends
    cp "$dat_trace" "$BATS_TEST_TMPDIR/dat_trace"
    chmod 755 "$BATS_TEST_TMPDIR/dat_trace"
    local user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    "${user[@]}" "$BATS_TEST_TMPDIR/dat_trace" --version >/dev/null 2>&1 || skip "another user cannot run programs from here"
    fails 1 "the (program|memory|memory map) of process $client_pid: (Permission denied|Operation not permitted).*: expected a process .*; run dat_trace as " \
        "${user[@]}" "$BATS_TEST_TMPDIR/dat_trace" "$client_pid"
}

@test "dat_trace tells wrong usage" {
    fails 2 'a PID or a FILE is required; dat_trace --help lists the options' "$dat_trace"
    fails 2 '.*--dapl' "$dat_trace" 1 --dapl 11
    fails 2 '--save takes one' "$dat_trace" 1 2 --save x
    fails 2 'a core file has no level to change' "$dat_trace" --core x --dapl 7
    for wrong in 5C5 5C 5C33 DAPL 5C3, 5C8-5C3 ''; do
        fails 2 ".*'.*' is not a hook id: 5C3 \(DAPL\), 5C4 \(DAPL error\)" "$dat_trace" 1 --hooks "$wrong"
    done
    for wrong in 0 '' x 0x 12g 123456789012345678; do
        fails 2 ".*'.*' is not the id of an object: hexadecimal digits" "$dat_trace" 1 --object "$wrong"
    done
    fails 2 '--object cannot be combined with ' "$dat_trace" 1 --object 5 --save x
    fails 2 '--object cannot be combined with ' "$dat_trace" 1 --object 5 --dat 3
    fails 2 '--hooks cannot be combined with ' "$dat_trace" 1 --hooks 5C3 --save x
    fails 2 '--hooks cannot be combined with ' "$dat_trace" 1 --hooks 5C3 --perfetto x
    fails 2 '--hooks cannot be combined with ' "$dat_trace" 1 --hooks 5C3 --dapl 7
}
