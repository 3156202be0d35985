#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs the verbs transport of Debian's gloo, with the program gloo_ranks.cpp, which checks each number.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() {
    [ -e /usr/include/gloo/transport/ibverbs/device.h ] || skip "gloo's headers are not installed: they are in the package libgloo-dev"
    need_program ibv_devinfo
    start_network
    cd "$BATS_TEST_TMPDIR" || return
}
teardown() { stop_all; }

# usage: ranks_are_right RANKS
ranks_are_right() {
    local rank
    $CXX -std=c++17 -O1 -o ranks "$TOP_SRCDIR/test/compat/gloo_ranks.cpp" -lgloo -libverbs -lpthread
    mkdir store
    for ((rank = 0; rank < $1; ++rank)); do start "rank$rank" "$tool" run ./ranks "$rank" "$1" store; done
    for ((rank = 0; rank < $1; ++rank)); do
        await_end "rank$rank"
        has "rank$rank" "^rank $rank is right$"
    done
    fabric_gets_clean
}

@test "gloo: 2 ranks reduce and broadcast" { ranks_are_right 2; }
@test "gloo: 4 ranks reduce and broadcast" { ranks_are_right 4; }
