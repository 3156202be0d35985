#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the table that `make bench-kernel` prints, made from given measurements; nothing is measured
# here.

load table.bash

setup() {
    make_table table_kernel <<'LINES'
send_latency_8.cma 10
send_latency_8.verbs 10
send_latency_8.reference 9
send_latency_8.cma 30
send_latency_8.verbs 20
send_latency_8.reference 40
send_latency_8.cma 12
send_latency_8.verbs 12
send_latency_8.reference 10
read_latency_8.cma 10 near 0.05 1
read_latency_8.verbs 8 near 0.05 1
read_latency_8.cma 50 far 0.25 2
read_latency_8.verbs 10 near 0.05 2
read_latency_8.cma 60 far 0.25 3
read_latency_8.verbs 40 far 0.25 3
write_latency_8.cma 11
write_latency_8.verbs 10
connect.cma 900
connect.reference 300
connect.scm missing libdaploscm.so.2 is not built
# rdma-core 44, Linux 6.1
LINES
}

@test "bench-kernel table: the ratio is the median of the rounds' ratios, not the ratio of the medians" {
    row 'send/receive 8 B, latency' '.values.cma == 12 and .values.verbs == 12 and .comparisons["cma/verbs"].ratio == 1'
    row 'send/receive 8 B, latency' '.comparisons["cma/verbs"] | .least == 1 and .most == 1.5 and .verdict == "met"'
}

@test "bench-kernel table: samples of one group are set against each other, but not those of different states" {
    row 'RDMA read 8 B, latency' '.comparisons["cma/verbs"] | .least == 1.25 and .most == 1.5'
}

@test "bench-kernel table: a goal that some rounds meet and others miss is undecided, one that all miss is missed" {
    row 'send/receive 8 B, latency' '.comparisons["cma/reference"].verdict == "undecided"'
    row 'RDMA write 8 B, latency' '.comparisons["cma/verbs"].verdict == "missed"'
}

@test "bench-kernel table: the ratio of rates is that of the times they stand for" {
    row 'connections made' '(.comparisons["cma/reference"].ratio - 1 / 3 | fabs) < 1e-9 and .comparisons["cma/reference"].verdict == "met"'
}

@test "bench-kernel table: what was not measured is said with its reason, and nothing follows from it" {
    grep -q '^# missing: connect.scm: libdaploscm.so.2 is not built$' "$BATS_TEST_TMPDIR/printed"
    row 'connections made' '.comparisons | has("scm/verbs") | not'
    row 'RDMA read 4 KiB, latency' '.comparisons == {}'
    cmp "$BATS_TEST_TMPDIR/printed" "$BATS_TEST_TMPDIR/table.txt"
}

@test "bench-kernel table: it goes between its markers of a document, and leaves the rest" {
    printf '%s\n' before '<!-- measured on rdma_rxe: begin -->' old '<!-- measured on rdma_rxe: end -->' after >"$BATS_TEST_TMPDIR/page.md"
    "$table" --document "$BATS_TEST_TMPDIR/table.json" "$BATS_TEST_TMPDIR/page.md"
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/page.md")" = before ]
    [ "$(tail -n 1 "$BATS_TEST_TMPDIR/page.md")" = after ]
    grep -q '^| connections made | /s | 900 | 300 | - | - | - | - |$' "$BATS_TEST_TMPDIR/page.md"
    grep -q '^Measured .*rdma-core 44, Linux 6.1.*; 3 rounds;' "$BATS_TEST_TMPDIR/page.md"
    [ "$(grep -c '^old' "$BATS_TEST_TMPDIR/page.md")" -eq 0 ]
}

@test "doc/performance.md has the markers for the table of rdma_rxe" {
    [ "$(grep -c '^<!-- measured on rdma_rxe: \(begin\|end\) -->$' "$TOP_SRCDIR/doc/performance.md")" -eq 2 ]
}
