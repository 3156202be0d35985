#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Work is counted in instructions under callgrind: times say nothing on a machine that others use as well.
load ../compat/helpers

setup() {
    need_program valgrind
    export SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric
    mkdir -m 700 "$SOFTVERBS_FABRIC"
    use_stack ours "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" 'soft0 1'
}

# usage: instructions COUNT - of both processes together, for this many connections from their making to their end.
instructions() {
    "${stack[@]}" valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$TOP_BUILDDIR/test/bench/.libs/connections" ia 127.0.0.1 "$1" >"$BATS_TEST_TMPDIR/out" 2>&1 || return 1
    awk '/Collected :/ { sum += $NF; processes++ } END { print sum; exit processes != 2 }' "$BATS_TEST_TMPDIR/out"
}
teardown() { cat "$BATS_TEST_TMPDIR/out"; }

@test "a connection costs the same among 1,500 as among 500: making, connecting, disconnecting, freeing" {
    few=$(instructions 100)
    some=$(instructions 500)
    many=$(instructions 1500)
    first=$(((some - few) / 400))
    later=$(((many - some) / 1000))
    echo "instructions of one connection: $first up to 500, $later from there"
    [ "$first" -gt 0 ]
    [ "$later" -lt $((first * 13 / 10)) ]
}
