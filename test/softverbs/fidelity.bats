#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Breaks each rule on protection, states and lengths on soft0, on each path by which payload reaches
# a peer: fidelity.table says what both sides must hear. The same program runs on rdma_rxe in
# test/kernel.

# usage: agrees [OPTION OF softverbs run]...
agrees() {
    "$TOP_BUILDDIR/softverbs" run "$@" -- "$TOP_BUILDDIR/test/softverbs/fidelity" "$TOP_SRCDIR/test/softverbs/fidelity.table" \
        >"$BATS_TEST_TMPDIR/out" || { grep -A2 '^not ok' "$BATS_TEST_TMPDIR/out"; return 1; }
    grep -q '^1\.\.[1-9]' "$BATS_TEST_TMPDIR/out"
}

@test "in ordinary memory"       { agrees; }
@test "by the peer's agent"      { SOFTVERBS_COPY=agent agrees; }
@test "in memory that is shared" { agrees --shared-heap; }
