#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs experiment R7 in short form: a process dies once at each step of the registration broker's
# protocol, as the holder of the lease and beside it.

load ../../support/time

@test "kill -9 at each step of the protocol: no entry of the table is lost, and the others have all of them" {
    run timeout "$(scaled 600)" "$TOP_BUILDDIR/test/bench/registration/registration_recovery" --short "$BATS_TEST_TMPDIR"
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q '^shown.a process killed at any step of the protocol loses no entry' "$BATS_TEST_TMPDIR/R7.claims"
    # Every step must be reached, so that a new one cannot go untested.
    [ "$(tail -n +2 "$BATS_TEST_TMPDIR/R7.csv" | wc -l)" -ge 40 ]
}
