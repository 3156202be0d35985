#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Work is counted in instructions under callgrind: times are meaningless on a machine that others
# use as well.
load ../compat/helpers

setup() {
    need_program valgrind
    export SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric
    mkdir -m 700 "$SOFTVERBS_FABRIC"
}

# usage: instructions COUNT - prints those of both processes together, for this many connections
# from creation to end.
instructions() {
    "${stack[@]}" valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$TOP_BUILDDIR/test/bench/.libs/connections" ia 127.0.0.1 "$1" >"$BATS_TEST_TMPDIR/out" 2>&1 || return 1
    awk '/Collected :/ { sum += $NF; processes++ } END { print sum; exit processes != 2 }' "$BATS_TEST_TMPDIR/out"
}
teardown() { cat "$BATS_TEST_TMPDIR/out"; }

# Work driven by timers comes on top where the machine is slow, and differs from run to run. A
# search that grows with the number of connections shows in every run, so one run without growth is
# enough.
costs_the_same_among_many() {
    local unit=$((100 * ${TEST_SCALE:-1})) few some many first later
    for _ in 1 2 3 4; do
        few=$(instructions "$unit")
        some=$(instructions $((3 * unit)))
        many=$(instructions $((8 * unit)))
        first=$(((some - few) / (2 * unit)))
        later=$(((many - some) / (5 * unit)))
        echo "instructions of one connection: $first up to $((3 * unit)), $later from there to $((8 * unit))"
        [ "$first" -gt 0 ]
        [ "$later" -ge $((first * 13 / 10)) ] || return 0
    done
    return 1
}

@test "a connection costs the same among many as among few: making, connecting, disconnecting, freeing" {
    use_stack ours "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" 'soft0 1'
    costs_the_same_among_many
}

@test "a connection over sockets costs the same among many as among few" {
    # All connections begin at once and proceed slowly here, hence the high limit of half-open ones.
    export DAPL_SCM_BIND_ADDRESS=127.0.0.1 DAPL_SCM_HALF_OPEN=100000
    use_stack ours "$TOP_BUILDDIR/.libs/libdaploscm.so.2" 'soft0 1' preload
    costs_the_same_among_many
}

@test "a connection whose receives come back flushed, with nobody to consume the events, costs the same among many as among few" {
    export CONNECTIONS_RECEIVES=8
    use_stack ours "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" 'soft0 1'
    costs_the_same_among_many
}
