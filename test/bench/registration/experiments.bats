#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Each experiment of doc/registration.md runs in its short form: no checker finds anything wrong, and
# each leaves its claims, numbers and picture. Whether a claim is shown is a result, not a test.
# recovery.bats runs R7.

load ../../support/time

# usage: runs EXPERIMENT
runs() {
    local results=$BATS_TEST_TMPDIR/results
    timeout "$(scaled 120)" env PYTHONDONTWRITEBYTECODE=1 "$TOP_SRCDIR/test/bench/registration/run.py" "$TOP_BUILDDIR" "$results" short "$1"
    [ -s "$results/$1.csv" ] || return
    [ -s "$results/$1.svg" ] || return
    grep -qE '^(shown|refuted|undecided)' "$results/$1.claims" || return
    grep -qE '[1-9][0-9]* looked at, 0 wrong' "$results/$1.claims"
}

@test "R1: newcomers beside a process that has all entries" { runs R1; }
@test "R2: an idle hoarder and a busy process" { runs R2; }
@test "R3: the grace period" { runs R3; }
@test "R4: REGISTER-WAIT" { runs R4; }
@test "R5: replacement policies" { runs R5; }
@test "R6: liars" { runs R6; }
@test "R8: messages and RDMA" { runs R8; }
@test "R9: revocation, registration for each I/O, and neither" { runs R9; }
@test "R10: programs unaware of the broker" { runs R10; }
@test "R11: what it costs without pressure" { runs R11; }
@test "R12: holders that do not want to share" { runs R12; }
@test "R13: regions that peers use" { runs R13; }
@test "R14: a registration for a call" { runs R14; }
@test "R15: a greedy flow" { runs R15; }
@test "R16: connections instead of registrations" { runs R16; }
