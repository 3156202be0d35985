#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What programs may expect of DAT also holds on adapter instances with the registration broker: runs
# the tests of the API again in its modes, with a table of their own.

load ../support/time

setup() {
    export SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric OPENDAT_REGISTRATION_DIRECTORY=$BATS_TEST_TMPDIR/tables
    mkdir -m 700 "$SOFTVERBS_FABRIC"
    told=$BATS_TEST_TMPDIR/told
}

# usage: passes MODE PROGRAM... - runs all tests of the programs. A program that ignored the setting
# would have made no table.
passes() {
    export OPENDAT_REGISTRATIONS=$1
    shift
    for program in "$@"; do
        timeout "$(scaled 600)" "$TOP_BUILDDIR/test/api/$program" >"$told" 2>&1 || { echo "$program:"; cat "$told"; return 1; }
        grep -q '^ok 1 ' "$told" || { echo "$program:"; cat "$told"; return 1; }
    done
    [ -d "$OPENDAT_REGISTRATION_DIRECTORY" ]
}

# usage: long PROGRAM... - prints them in the long run only.
long() { ! is_long_run || echo "$@"; }

# shellcheck disable=SC2046 # lists of words
@test "with registrations accounted, transfers, extensions and their completions are what they are without" {
    passes on transfer_test extension_test completion_flags_test $(long delayed_ack_test disconnect_test)
}

# shellcheck disable=SC2046
@test "with registrations accounted, memory regions and windows are what they are without" {
    passes on memory_test rmr_test codes_test $(long status_test trace_test)
}

# shellcheck disable=SC2046
@test "with registrations accounted, shared receives, datagrams and endpoints are what they are without" {
    passes on srq_test endpoint_test ud_test $(long fork_test threads_test)
}

@test "a registration cache in malloc() and free() waits for no lock of its own thread, in any mode" {
    for mode in on transparent per-io; do
        passes "$mode" registration_cache_test
        ! grep -F DAT111 "$told" || return 1
    done
}

# shellcheck disable=SC2046
@test "in transparent mode transfers, extensions, windows and shared receives are what they are without" {
    passes transparent transfer_test extension_test rmr_test srq_test $(long completion_flags_test memory_test ud_test fork_test)
}

# shellcheck disable=SC2046
@test "with registrations for each transfer, transfers, extensions, windows and shared receives are what they are without" {
    passes per-io transfer_test extension_test rmr_test srq_test $(long completion_flags_test memory_test ud_test)
}
