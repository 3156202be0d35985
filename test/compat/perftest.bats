#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's perftest: one measurement for each operation and each kind of queue pair.
# perftest_long.bats has the others.
load perftest

@test "ib_write_lat: 2 bytes" { measure ib_write_lat 2 -F -n 200; }
@test "ib_send_bw: 64 KiB" { measure ib_send_bw 65536 -F -n 1000; }
@test "ib_send_lat: 64 bytes" { measure ib_send_lat 64 -F -n 1000 -s 64; }
@test "ib_write_bw -c UC: 64 KiB" { measure ib_write_bw 65536 -F -n 500 -c UC; }
@test "ib_send_lat -c UD: 64 bytes" { measure ib_send_lat 64 -F -n 400 -s 64 -c UD; }
@test "ib_read_lat: 4 KiB" { measure ib_read_lat 4096 -F -n 500 -s 4096; }
@test "ib_atomic_lat: fetch and add" { measure ib_atomic_lat 8 -F -n 500; }
@test "ib_send_lat -R: connected by rdma_cm" { measure ib_send_lat 64 -F -n 500 -s 64 -R; }
@test "ib_send_bw --use-srq -q 2: receives from a shared queue" { measure ib_send_bw 4096 -F -n 300 -s 4096 -q 2 --use-srq; }
