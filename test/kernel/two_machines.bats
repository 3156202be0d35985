#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine: --two --limit 2400
# Runs programs with one end on each of two machines: our dtest, dtest_ext and tools, and Debian's programs
# on our libraries. The server is on the second machine. Faults: two_faults.bats.
# shellcheck disable=SC2154 # what the helpers set
load helpers
load ../compat/dapl_programs

teardown() { end_on_wire; }

our_messages() {
    our_dtest_passes -b 4096 -B 20
    our_dtest_passes -b 4096 -B 20 -p
}

@test "our dtest, waiting and polling, by cma on rxe" { use_device ours cma rxe0; our_messages; }
# The server of dtest sends first, which iWARP does not allow: its message may come too early for siw.
@test "our dtest by cma on siw" {
    use_device ours cma siw0
    local lost_races="$lost_races|no event came|0x4008"
    run_dapl_pair "$TOP_BUILDDIR/.libs/dtest" -b 4096 -B 20
    has server 'DAPL Test Complete\. PASSED$'
    has client 'DAPL Test Complete\. PASSED$'
}
@test "our dtest, waiting and polling, by scm on rxe" { use_device ours scm rxe0; our_messages; }
@test "our dtest, waiting and polling, by ucm on rxe" { use_device ours ucm rxe0; our_messages; }

@test "our dtest_ext, all checks, by cma on rxe" { use_device ours cma rxe0; our_dtest_ext_passes 25 0; }
@test "our dtest_ext, all checks, by scm on rxe" { use_device ours scm rxe0; our_dtest_ext_passes 25 0; }
@test "our dtest_ext, what an iWARP device can do, by cma on siw" { use_device ours cma siw0; our_dtest_ext_passes 9 16; }

@test "Debian's dtest on our libraries by cma on rxe" { use_device ours cma rxe0; dtest_passes -t -b 4096; }
@test "Debian's dtest on our libraries by scm on rxe" { use_device ours scm rxe0; dtest_passes -t -b 4096; }

@test "Debian's dapltest, all operations with validation, by cma on rxe" { use_device ours cma rxe0; mixed_passes 2; }
@test "Debian's dapltest, all operations with validation, by cma on siw" { use_device ours cma siw0; mixed_passes 1; }
@test "Debian's dapltest, all operations with validation, by scm on rxe" { use_device ours scm rxe0; mixed_passes 2; }
@test "Debian's dtestcm, 50 connections, by cma on rxe" {
    use_device ours cma rxe0
    # shellcheck disable=SC2034 # for dtestcm_passes
    client_address=10.78.0.1
    dtestcm_passes 50 1
}

# usage: perf_measures OPERATIONS - each byte is checked, in each direction.
perf_measures() {
    local options=(-i ia -n 20 -w 2 -s '8,10000' -d 'one,two' -o "$1" --check)
    start_serving "$TOP_BUILDDIR/.libs/dat_perf" "${options[@]}"
    await_port server 15829
    run_to_end client "${stack[@]}" "$TOP_BUILDDIR/.libs/dat_perf" "${options[@]}" --json "$server_address"
    await_end server
    is_silent client server
    # Latencies have one direction.
    jq -e --argjson operations "$(wc -w <<<"${1//,/ }")" \
        '.results | length == $operations * 10 and all(.[]; .operations >= 20)' "$BATS_TEST_TMPDIR/client.out"
}
@test "dat_perf by cma on rxe: latency, bandwidth and rate of sends, writes and reads" {
    use_device ours cma rxe0
    perf_measures send,write,read
}
@test "dat_perf by cma on siw: latency, bandwidth and rate of sends, writes and reads" {
    use_device ours cma siw0
    perf_measures send,write,read
}
@test "dat_perf by scm on rxe: latency, bandwidth and rate of sends, writes and reads" {
    use_device ours scm rxe0
    perf_measures send,write,read
}

# usage: ping_answers LONGEST_MS - four messages, all answered; the fastest within LONGEST_MS.
ping_answers() {
    start_serving "$TOP_BUILDDIR/.libs/dat_ping" --listen --ia ia
    await_line server listen
    run_to_end client "${stack[@]}" "$TOP_BUILDDIR/.libs/dat_ping" --ia ia -c 4 --interval 0.1 --timeout 60 --json "$server_address"
    is_silent client
    kill "${process_of[server]}"
    wait "${process_of[server]}" || true
    unset 'process_of[server]'
    jq . "$BATS_TEST_TMPDIR/client.out"
}
@test "dat_ping, and 20 ms delay on the wire show in its times" {
    use_device ours cma rxe0
    ping_answers
    jq -e '.received == 4' "$BATS_TEST_TMPDIR/client.out"
    delay_wire
    ping_answers
    jq -e '.received == 4 and .rtt_ms.min >= 20' "$BATS_TEST_TMPDIR/client.out"
}

# usage: doctor_finds FILTER - on both machines.
doctor_finds() {
    local side
    for side in doctor listener; do
        jq -e "$1" "$BATS_TEST_TMPDIR/$side.out" >/dev/null || { echo "the $side's document lacks: $1"; return 1; }
    done
}
@test "dat_doctor as a pair: the transfer runs between the machines" {
    use_device ours cma rxe0
    start listener "${elsewhere[@]}" "${stack[@]}" "$TOP_BUILDDIR/dat_doctor" --json --listen
    await_port listener 45312
    start doctor "${stack[@]}" "$TOP_BUILDDIR/dat_doctor" --json machine2
    wait "${process_of[doctor]}" || true
    wait "${process_of[listener]}" || true
    unset 'process_of[doctor]' 'process_of[listener]'
    doctor_finds '.peer.device == "rxe0" and .peer.gid != .here.gid and (.checks | index("the other machine") and index("a transfer"))'
    doctor_finds '[.findings[] | select(.severity == "error")] == []'
}

# The clock of the second machine is half a minute ahead.
@test "dat_trace joins the two ends of a connection although the machines' clocks differ" {
    use_machines ours cma rxe0
    "${elsewhere[@]}" date -s '+30 seconds'
    local survivor=$TOP_BUILDDIR/test/kernel/.libs/survivor trace=("$TOP_BUILDDIR/dat_trace") until=$BATS_TEST_TMPDIR/until
    start passive "${passive[@]}" "$survivor" ia --idle
    await_line passive listening
    start active "${active[@]}" "$survivor" ia --connect "$server_address" --idle --until "$until"
    await_line active ESTABLISHED
    await_line passive ESTABLISHED
    # shellcheck disable=SC2016 # for the other machine
    "${elsewhere[@]}" sh -c '"$1" "$(pgrep -x survivor)" --save "$2"' save "${trace[@]}" "$TOP_BUILDDIR/test/kernel/passive.trace"
    "${trace[@]}" "$(pgrep -x survivor)" --save "$BATS_TEST_TMPDIR/active.trace"
    run_to_end trace "${trace[@]}" "$TOP_BUILDDIR/test/kernel/passive.trace" "$BATS_TEST_TMPDIR/active.trace" --json
    touch "$until"
    await_end active
    await_end passive
    jq -e '[.connections[0].ends[].source] | unique == ["A", "B"]' "$BATS_TEST_TMPDIR/trace.out"
    # The request leaves before it arrives, and both within the two seconds of the connection.
    jq -e '[.events[] | select(.text | test("sent request|received request")) | .source] == ["B", "A"]' "$BATS_TEST_TMPDIR/trace.out"
    jq -e '[.events[] | select(.text | test("sent request|received request")) | .time_us] | .[1] - .[0] | . >= 0 and . < 10000000' \
        "$BATS_TEST_TMPDIR/trace.out"
}
