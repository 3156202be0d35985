#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Draws the curves of `make bench` from given measurements; nothing is measured here.

draw() {
    cat >"$BATS_TEST_TMPDIR/measurements"
    mkdir -p "$BATS_TEST_TMPDIR/drawn"
    "$TOP_SRCDIR/test/bench/curves" "$BATS_TEST_TMPDIR/measurements" "$BATS_TEST_TMPDIR/drawn"
}

@test "bench curves: the median of each point, by work and stack, in the order of sizes" {
    draw <<'LINES'
send_latency@4096.provided 3
send_latency@8.provided 0.5
send_latency@8.provided 9
send_latency@8.provided 0.3
send_latency@8.verbs 0.2 near 0.05 4
write_bandwidth@64.reference 700
send_latency.provided 0.3
write_latency@8.reference missing libdapl2 is not installed
LINES
    diff - "$BATS_TEST_TMPDIR/drawn/curves.csv" <<'LINES'
work,stack,x,median,state
send_latency,provided memory,8,0.5,
send_latency,provided memory,4096,3,
send_latency,verbs alone,8,0.2,near
write_bandwidth,reference,64,700,
LINES
}

@test "bench curves: a picture for each group of works that was measured, and none of those that were not" {
    draw <<'LINES'
send_latency@8.provided 0.5
send_latency@64.provided 0.6
rate_by_depth@1.provided 1000000
rate_by_depth@128.provided 9000000
send_latency.provided 0.3 near 0.05 1
blocking_latency.provided 30 near 0.05 2
blocking_latency.provided 90 far 0.25 3
send_latency@8.provided 0.5
LINES
    cd "$BATS_TEST_TMPDIR/drawn"
    [ "$(echo *.svg)" = 'latency.svg queue.svg waiting.svg' ]
    for picture in *.svg; do python3 -c "import sys, xml.dom.minidom as x; x.parse(sys.argv[1])" "$picture"; done
    grep -q '>provided memory<' latency.svg
    grep -q '>requests under way<' queue.svg
    grep -q '>blocking<' waiting.svg
    grep -q '>Send of 8 bytes, one way, near<' waiting.svg
}

@test "bench curves: what the machine did is a picture over time" {
    draw <<'LINES'
floor@0.machine 0.05
floor@10.machine 0.25
LINES
    [ "$(cat "$BATS_TEST_TMPDIR/drawn/curves.csv")" = $'work,stack,x,median,state\nfloor,the machine,0,0.05,\nfloor,the machine,10,0.25,' ]
    grep -q '>ms<' "$BATS_TEST_TMPDIR/drawn/machine.svg"
}

@test "bench curves: the pictures that the pages show are those that are drawn, and their data lies beside them" {
    cd "$TOP_SRCDIR/doc/guides"
    shown=$(grep -ohE '\]\((\.\./)?performance/[a-z]+\.svg\)' tuning.md ../performance.md | grep -oE '[a-z]+\.svg' | sort)
    drawn=$(cd ../performance && printf '%s\n' *.svg | sort)
    [ "$shown" = "$drawn" ]
    mkdir "$BATS_TEST_TMPDIR/drawn"
    cp ../performance/curves.csv "$BATS_TEST_TMPDIR/drawn"
    "$TOP_SRCDIR/test/bench/curves" "$BATS_TEST_TMPDIR/drawn"
    for picture in machine latency bandwidth queue registration processes; do
        cmp "$BATS_TEST_TMPDIR/drawn/$picture.svg" "../performance/$picture.svg"
    done
}
