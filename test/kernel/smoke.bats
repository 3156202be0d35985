#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs one transfer test for each provider and device; continuous integration runs these.
# shellcheck disable=SC2154 # stack and server_address come from the helpers
load helpers

teardown() { stop_all; }

# usage: dtest_works PROVIDER DEVICE OPTIONS... - runs our dtest on our libraries; both sides check
# every transfer.
dtest_works() {
    use_device ours "$1" "$2"
    shift 2
    start server "${stack[@]}" "$TOP_BUILDDIR/.libs/dtest" -s -P ia "$@"
    start client "${stack[@]}" "$TOP_BUILDDIR/.libs/dtest" -h "$server_address" "$@"
    await_end client
    await_end server
    local side
    for side in server client; do
        has "$side" 'DAPL Test Complete\. PASSED$'
    done
    is_silent server client
}

@test "cma on rxe0: dtest" { dtest_works cma rxe0 -b 4096 -B 50; }
@test "cma on siw0: dtest" { dtest_works cma siw0 -b 4096 -B 50; }
@test "scm on rxe0: dtest" { dtest_works scm rxe0 -b 4096 -B 50; }
@test "ucm on rxe0: dtest" { dtest_works ucm rxe0 -b 4096 -B 50; }
