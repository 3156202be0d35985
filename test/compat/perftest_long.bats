#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs the measurements of Debian's perftest that perftest.bats leaves out.
load perftest

@test "ib_write_lat: 64 KiB" { measure ib_write_lat 65536 -F -n 100 -s 65536; }
@test "ib_write_lat -a: every size from 2 bytes to 8 MiB" {
    measure ib_write_lat "2 64 256 4096 65536 1048576 8388608" -F -n 5 -a
}
@test "ib_send_bw: 64 bytes, both directions" { measure ib_send_bw 64 -F -n 1000 -s 64 -b; }
@test "ib_send_bw -e: sleeping for completion events" { measure ib_send_bw 4096 -F -n 1000 -s 4096 -e; }
@test "ib_send_bw -r 8: a receive queue that often runs empty" { measure ib_send_bw 4096 -F -n 1000 -s 4096 -r 8; }
@test "ib_write_bw: 64 KiB over 4 queue pairs" { measure ib_write_bw 65536 -F -n 500 -q 4; }
@test "ib_send_lat -c UC: 64 bytes" { measure ib_send_lat 64 -F -n 400 -s 64 -c UC; }
@test "ib_send_bw -c UC: 4 KiB" { measure ib_send_bw 4096 -F -n 400 -s 4096 -c UC; }
@test "ib_write_lat -c UC: 64 bytes" { measure ib_write_lat 64 -F -n 200 -s 64 -c UC; }
@test "ib_send_bw -c UD: 4 KiB" { measure ib_send_bw 4096 -F -n 400 -s 4096 -c UD; }
@test "ib_send_bw -c UD -q 2 -e: two queue pairs, sleeping for completion events" {
    measure ib_send_bw 1024 -F -n 200 -s 1024 -c UD -q 2 -e
}
@test "ib_read_bw: 64 KiB" { measure ib_read_bw 65536 -F -n 500; }
@test "ib_atomic_bw: compare and swap" { measure ib_atomic_bw 8 -F -n 500 -A CMP_AND_SWAP; }
@test "ib_write_lat -R: connected by rdma_cm" { measure ib_write_lat 64 -F -n 200 -s 64 -R; }
@test "ib_read_lat -R: connected by rdma_cm" { measure ib_read_lat 64 -F -n 200 -s 64 -R; }
@test "ib_atomic_lat -R: connected by rdma_cm" { measure ib_atomic_lat 8 -F -n 200 -R; }
@test "ib_send_bw -R: connected by rdma_cm" { measure ib_send_bw 4096 -F -n 300 -s 4096 -R; }
@test "ib_write_bw -R: connected by rdma_cm" { measure ib_write_bw 4096 -F -n 300 -s 4096 -R; }
@test "ib_send_bw -q 4 -e: 4 queue pairs, sleeping" { measure ib_send_bw 4096 -F -n 300 -s 4096 -q 4 -e; }
@test "ib_write_bw -b -q 2: both directions" { measure ib_write_bw 4096 -F -n 300 -s 4096 -q 2 -b; }
@test "ib_read_bw -q 4 -e: 4 queue pairs, sleeping" { measure ib_read_bw 4096 -F -n 300 -s 4096 -q 4 -e; }
@test "ib_read_bw -b: both directions" { measure ib_read_bw 65536 -F -n 200 -b; }
@test "ib_atomic_bw -q 2: fetch and add over 2 queue pairs" { measure ib_atomic_bw 8 -F -n 200 -q 2 -A FETCH_AND_ADD; }
@test "ib_atomic_lat: compare and swap" { measure ib_atomic_lat 8 -F -n 200 -A CMP_AND_SWAP; }
@test "ib_send_lat -e: sleeping for completion events" { measure ib_send_lat 64 -F -n 300 -s 64 -e; }
