#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests what the pages say of many processes: the table of test/bench/processes from given measurements, and the
# model of doc/scale.md beside the measurements of doc/performance. Nothing is measured here.

@test "bench processes: a row for each provider and count, the median of several runs; what failed has none" {
    cd "$BATS_TEST_TMPDIR"
    for run in 1 9 2; do
        printf 'mesh_%s\n' 'connections@8.soft 28' "connection_us@8.soft $run" 'end_us@8.soft 7' 'opened_kib@8.soft 900' \
            'connected_kib@8.soft 1500' 'page_tables_kib@8.soft 100' 'descriptors@8.soft 59' 'death_ms@8.soft 3.5' 'idle_us@8.soft 40' 'ls_ms@8.soft 6'
    done >measurements
    echo 'mesh_connections@256.reference missing mesh: a process has ended early' >>measurements
    printf 'before\n<!-- many processes: begin -->\nold\n<!-- many processes: end -->\nafter\n' >page.md
    "$TOP_SRCDIR/test/bench/processes" --document measurements page.md
    cat page.md
    grep -qxF '| 8 | 28 | libdaplsoft | 2 | 7 | 900 | 1,500 | 100 | 59 | 3.5 | 40 | 6 |' page.md
    [ "$(grep -c '^| [0-9]' page.md)" = 1 ]
    [ "$(sed -n '1p;$p' page.md | tr '\n' ' ')" = 'before after ' ]
}

@test "bench scale: the page, its picture and its numbers are made from the measurements beside doc/performance.md" {
    mkdir "$BATS_TEST_TMPDIR/made"
    "$TOP_SRCDIR/test/bench/scale" "$TOP_SRCDIR/doc/performance/curves.csv" "$BATS_TEST_TMPDIR/made"
    cmp "$BATS_TEST_TMPDIR/made/scale.csv" "$TOP_SRCDIR/doc/scale/scale.csv"
    cmp "$BATS_TEST_TMPDIR/made/scale.svg" "$TOP_SRCDIR/doc/scale/scale.svg"
    cp "$TOP_SRCDIR/doc/scale.md" "$BATS_TEST_TMPDIR/page.md"
    chmod u+w "$BATS_TEST_TMPDIR/page.md"
    "$TOP_SRCDIR/test/bench/scale" --document "$TOP_SRCDIR/doc/performance/curves.csv" "$BATS_TEST_TMPDIR/page.md"
    cmp "$BATS_TEST_TMPDIR/page.md" "$TOP_SRCDIR/doc/scale.md"
}

# Fewer than 8 processes use only parts of their first pages, and are connected at once. The table has the process
# with the most page tables, which depend on where the kernel has put its mappings.
@test "bench scale: for 8 to 256 processes the model agrees with what was measured" {
    awk -F, '
        NR > 1 && $2 >= 8 {
            limit = $1 == "seconds" ? 2.5 : $1 == "page_tables_kib" ? 1.4 : 1.1
            ratio = $3 / $4
            compared++
            if (ratio > limit || ratio < 1 / limit) { print $1 " of " $2 " processes: " $3 ", measured " $4; wrong = 1 }
        }
        END { exit wrong || compared != 20 }' "$TOP_SRCDIR/doc/scale/scale.csv"
}
