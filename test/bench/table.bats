#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the table that `make bench` prints, made from given measurements; nothing is measured here.

load table.bash

setup() {
    make_table table <<'LINES'
# the processors were near 60% of the time (50 ns), far 40% of the time (250 ns), and changed 3 times
send_latency.provided 0.2 near 0.05 1
send_latency.ucx 0.4 near 0.05 1
send_latency.provided 9.0 near 0.05 2
send_latency.ucx 10 near 0.05 2
send_latency.provided 0.3 near 0.05 3
send_latency.ucx 0.5 far 0.25 3
send_latency.provided 0.3 near 0.05 4
send_latency.ucx 0.5 near 0.05 4
send_latency.provided 0.3 near 0.05 5
send_latency.ucx 0.5 near 0.05 5
send_latency.provided 0.3 near 0.05 6
send_latency.ucx 0.5 near 0.05 6
send_latency.provided 0.3 near 0.05 7
send_latency.ucx 0.5 near 0.05 7
send_latency.provided 0.3 near 0.05 8
send_latency.ucx 0.5 near 0.05 8
send_latency.provided 0.8 far 0.25 9
send_latency.ucx 1.0 far 0.25 9
send_latency.heap 0.6 near 0.05 10
send_latency.ucx 0.4 near 0.05 10
send_latency.ordinary 1.5 near 0.05 11
send_latency.ucx 0.4 near 0.05 11
send_latency.verbs 0.25 near 0.05 12
send_latency.reference 0.9 near 0.05 13
send_latency.fi_shm missing fi_pingpong is not installed
write_latency.provided 0.08 near 0.05 14
write_latency.provided 0.28 far 0.25 15
write_rate.provided 12000000 near 0.05 16
read_latency.provided 0.5 near 0.05 17
send_bandwidth_1M.provided 8000 near 0.05 18
send_bandwidth_1M.ucx_cma 9000 near 0.05 18
send_bandwidth_1M.ucx_posix 5000 near 0.05 18
wake_up.eventfd 6 near 0.05 19
wake_up.futex 4 near 0.05 19
blocking_latency.provided 5 near 0.05 19
register_write_1M.heap 40 near 0.05 20
register_write_1M.ordinary 80 near 0.05 20
open_cold.ours 10
open_cold.ours 12
open_cold.ours 14
open_cold.reference 24
write_instructions.heap 300
write_instructions.reference 900
write_instructions.verbs 200
send_instructions.heap 340
send_instructions.reference 600
send_instructions.verbs 100
write_ns.heap 70
delayed_ns.heap 140
read_back_ns.heap 210
checked_ns.heap 800
write_ns.reference 20
write_ns.verbs 30
container_latency.heap 0.12 near 0.05 21
container_latency.one 0.1 near 0.05 21
container_bandwidth_1M.heap 9000 near 0.05 22
container_bandwidth_1M.memcpy 10000 near 0.05 22
trace_point_off.ours 0.4
trace_point_on.ours 30
LINES
}

@test "bench table: the median of the runs in a state counts, beside each peer" {
    row 'send/receive 8 B, one way' 'select(.state == "near") | .values == {"provided": 0.3, "heap": 0.6, "ordinary": 1.5,
        "verbs": 0.25, "reference": 0.9, "peer": 0.5, "floor": null} and .cache_line_ns == 50'
    row 'send/receive 8 B, one way' 'select(.state == "far") | .values.provided == 0.8 and .cache_line_ns == 250'
    row 'open and close an IA, the first time in a process' '.state == null and .values.provided == 12 and .ratio == 0.5'
}

@test "bench table: a ratio is the median of those of samples beside each other, in one state" {
    row 'send/receive 8 B, one way' 'select(.state == "near") | .spread.count == 7 and (.ratio - 0.6 | fabs) < 1e-9 and
        (.ratios.heap - 1.5 | fabs) < 1e-9 and (.ratios.ordinary - 3.75 | fabs) < 1e-9'
    row 'send/receive 8 B, one way' 'select(.state == "far") | .spread.count == 1 and (.ratio - 0.8 | fabs) < 1e-9'
}

@test "bench table: without seven pairs in a state nothing is met or missed there" {
    row 'send/receive 8 B, one way' 'select(.state == "near") | .met == true and .limit == 0.9'
    row 'send/receive 8 B, one way' 'select(.state == "far") | .met == null and .limit == 0.65'
    grep -q '^send/receive 8 B, one way  *far .*few pairs$' "$BATS_TEST_TMPDIR/table.txt"
}

@test "bench table: a write is also held against a cache line's way, by the nanoseconds above it" {
    row "the same above a cache line's way" 'select(.state == "near") | (.values.provided - 30 | fabs) < 1e-9'
    row "the same above a cache line's way" 'select(.state == "far") | (.values.provided - 30 | fabs) < 1e-9 and .against == "35 ns"'
}

@test "bench table: a state that was not met is said" {
    grep -v ' far ' "$BATS_TEST_TMPDIR/measurements" >"$BATS_TEST_TMPDIR/near"
    "$table" "$BATS_TEST_TMPDIR/near" "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/printed"
    row 'RDMA read 8 B' 'select(.state == "far") | .state_met == false'
    grep -q '^RDMA read 8 B  *far .*state not met$' "$BATS_TEST_TMPDIR/table.txt"
}

@test "bench table: what the machine did during the run stands above the table" {
    grep -q '^# the processors were near 60% of the time' "$BATS_TEST_TMPDIR/table.txt"
}

@test "bench table: delayed_ack is set against the same write without it" {
    row 'RDMA write 8 B with delayed_ack, post and completion' '.against == "write_ns.heap" and .ratio == 2 and .met == null'
    row 'RDMA write 8 B with delayed_ack by reading back, post and completion' '.against == "write_ns.heap" and .ratio == 3 and .met == null'
}

@test "bench table: a transfer with checks is held against a microsecond" {
    row 'RDMA write 8 B with all checks (OPENDAT_CHECK), post and completion' '.against == "1000 ns" and .ratio == 0.8 and .met == true'
}

@test "bench table: where the library provides no memory, the shared heap is held against the goal" {
    row 'register, one 1 MiB write, deregister' 'select(.state == "near") |
        .values.heap == 40 and .against == "register_write_1M.ordinary" and .ratio == 0.5'
}

@test "bench table: two containers are held against one, and against memcpy" {
    row 'RDMA write 8 B between two containers, one way' 'select(.state == "near") |
        .values.heap == 0.12 and .against == "container_latency.one" and (.ratio - 1.2 | fabs) < 1e-9'
    row 'RDMA write bandwidth 1 MiB between two containers' 'select(.state == "near") |
        .values.floor == 10000 and (.ratio - 0.9 | fabs) < 1e-9 and .kind == "least" and .limit == 0.8'
}

@test "bench table: a goal is met or missed by its ratio, in its direction" {
    row 'open and close an IA, the first time in a process' '.met == true and .kind == "most" and .limit == 1'
    row 'RDMA read 8 B' "select(.state == \"near\") | .ratio == 5 and .against == \"a cache line's round trip\""
    row 'message rate 8 B writes, one thread' 'select(.state == "near") | .ratio == 1.2'
    row 'send bandwidth 1 MiB' 'select(.state == "near") | .against == "send_bandwidth_1M.ucx_cma"'
    row 'blocking wait, 8 B, one way' 'select(.state == "near") | .against == "wake_up.futex" and .ratio == 1.25'
}

@test "bench table: what DAT adds is the difference to verbs, ours and the reference's" {
    row 'DAT above verbs, write: of what the reference adds' 'select(.unit == "instructions") |
        .values == {"heap": 100, "reference": 700} and .met == true'
    row 'DAT above verbs, write: post and completion' 'select(.unit == "instructions") | .met == true'
    row 'DAT above verbs, write: post and completion' 'select(.unit == "ns") | .met == false'
    row 'DAT above verbs, send: post and completion' 'select(.unit == "instructions") | .values.heap == 120 and .met == true'
    # Load can make the reference seem faster than verbs alone, so there is no verdict.
    row 'DAT above verbs, write: of what the reference adds' 'select(.unit == "ns") | .values.reference == -10 and .met == null'
}

@test "bench table: a trace point is held against 1 ns while it is off, and against 10 ns while it is recorded" {
    row 'trace point of a transfer, while off' '.met == true and .ratio == 0.4 and .against == "1 ns"'
    row 'trace point of a transfer, recorded' '.met == false and .ratio == 3 and .limit == 2'
}

@test "bench table: what is missing is said, and its row is there" {
    row 'send/receive 8 B, one way' 'select(.state == "near") | .missing == {"send_latency.fi_shm": "fi_pingpong is not installed"}'
    row 'RDMA write 8 B, one way, target polls memory' 'select(.state == "near") | .met == null and .ratio == null'
    grep -q '^# missing: send_latency.fi_shm: fi_pingpong is not installed$' "$BATS_TEST_TMPDIR/table.txt"
    grep -q '^RDMA write 8 B, one way, target polls memory  *near .*not measured$' "$BATS_TEST_TMPDIR/table.txt"
}

@test "bench table: what is printed is table.txt, and the plot is an image with a bar for each row that has a ratio" {
    cmp "$BATS_TEST_TMPDIR/printed" "$BATS_TEST_TMPDIR/table.txt"
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$BATS_TEST_TMPDIR/table.svg"
    [ "$(grep -c 'text-anchor="end"' "$BATS_TEST_TMPDIR/table.svg")" -eq \
        "$(jq '[.rows[] | select(.kind and .ratio)] | length' "$BATS_TEST_TMPDIR/table.json")" ]
}

@test "bench table: every goal has a row, whatever was measured" {
    : >"$BATS_TEST_TMPDIR/nothing"
    "$table" "$BATS_TEST_TMPDIR/nothing" "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/printed"
    [ "$(jq '.rows | length' "$BATS_TEST_TMPDIR/table.json")" -eq 59 ]
    jq -e 'all(.rows[]; .met == null)' "$BATS_TEST_TMPDIR/table.json" >/dev/null
}

@test "bench table: it goes between the markers of a document, and leaves the rest" {
    printf 'before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n' >"$BATS_TEST_TMPDIR/page.md"
    "$table" --document "$BATS_TEST_TMPDIR/table.json" "$BATS_TEST_TMPDIR/page.md"
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/page.md")" = before ]
    [ "$(tail -n 1 "$BATS_TEST_TMPDIR/page.md")" = after ]
    grep -q '^| send/receive 8 B, one way | near | 50 | us | 0.3 | 0.6 | 1.5 | 0.25 | 0.9 | 0.5 | - |' "$BATS_TEST_TMPDIR/page.md"
    [ "$(grep -c "^old" "$BATS_TEST_TMPDIR/page.md")" -eq 0 ]
    # A second run gives the same result.
    cp "$BATS_TEST_TMPDIR/page.md" "$BATS_TEST_TMPDIR/once.md"
    "$table" --document "$BATS_TEST_TMPDIR/table.json" "$BATS_TEST_TMPDIR/page.md"
    cmp "$BATS_TEST_TMPDIR/once.md" "$BATS_TEST_TMPDIR/page.md"
}

@test "bench table: a document without the markers is refused" {
    echo text >"$BATS_TEST_TMPDIR/page.md"
    run "$table" --document "$BATS_TEST_TMPDIR/table.json" "$BATS_TEST_TMPDIR/page.md"
    [ "$status" -eq 1 ]
    [[ $output == *"markers"* ]]
    [ "$(cat "$BATS_TEST_TMPDIR/page.md")" = text ]
}

@test "doc/performance.md has the markers for the table" {
    [ "$(grep -c '^<!-- measured: \(begin\|end\) -->$' "$TOP_SRCDIR/doc/performance.md")" -eq 2 ]
}
