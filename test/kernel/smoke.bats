#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs one transfer test for each provider and device; continuous integration runs these.
load helpers

teardown() { stop_all; }

# usage: dtest_works PROVIDER DEVICE - runs our dtest on our libraries; both sides check every transfer.
dtest_works() {
    use_device ours "$1" "$2"
    our_dtest_passes -b 4096 -B 50
}

@test "cma on rxe0: dtest" { dtest_works cma rxe0; }
@test "cma on siw0: dtest" { dtest_works cma siw0; }
@test "scm on rxe0: dtest" { dtest_works scm rxe0; }
@test "ucm on rxe0: dtest" { dtest_works ucm rxe0; }
