#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs whole test programs of verbs and of DAT once more, with the shared heap preloaded: every
# buffer that they allocate is on path S, and every fork of theirs takes the heap along.

# usage: passes ROOM/PROGRAM - runs it; none of its tests may fail.
passes() {
    LD_PRELOAD=$TOP_BUILDDIR/.libs/libsoftverbs-heap.so "$TOP_BUILDDIR/test/$1" >"$BATS_TEST_TMPDIR/out" 2>&1 || { cat "$BATS_TEST_TMPDIR/out"; return 1; }
    grep -q '^ok' "$BATS_TEST_TMPDIR/out"
    ! grep '^not ok' "$BATS_TEST_TMPDIR/out"
}

@test "transfers of verbs" { passes softverbs/verbs_transfer_test; }
@test "memory regions of verbs" { passes softverbs/verbs_memory_test; }
@test "transfers of DAT" { passes api/transfer_test; }
@test "local memory regions of DAT" { passes api/memory_test; }
@test "children of fork, of DAT" { passes api/fork_test; }
