#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs 10,000 rounds of verbs_scribbles_test, each with a seed of its own.

quarter() {
    TEST_SCALE=25 "$TOP_BUILDDIR/test/softverbs/verbs_scribbles_test"
}

@test "random values in every shared field: rounds 1 to 2,500" { quarter; }
@test "random values in every shared field: rounds 2,501 to 5,000" { quarter; }
@test "random values in every shared field: rounds 5,001 to 7,500" { quarter; }
@test "random values in every shared field: rounds 7,501 to 10,000" { quarter; }
