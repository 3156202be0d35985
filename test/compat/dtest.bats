#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's test programs, above all dtest, on our libdat2 and libdaplsoft.
load helpers

setup() {
    need_program dtest
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
}
teardown() { stop_all; }

@test "Debian's dtest passes on our libraries: -b 4096" { dtest_passes -b 4096; }
@test "Debian's dtest passes on our libraries: polling (-p)" { dtest_passes -b 4096 -p; }
@test "Debian's dtest passes on our libraries: waiting on a CNO (-c)" { dtest_passes -b 4096 -c; }
@test "Debian's dtest passes on our libraries: RDMA write stream (-w)" { dtest_passes -b 4096 -w; }
@test "Debian's dtest passes on our libraries: RDMA write ping-pong (-W)" { dtest_passes -b 4096 -W; }
@test "Debian's dtest passes on our libraries: every byte checked (-D)" { dtest_passes -b 4096 -D; }
@test "Debian's dtest passes on our libraries: all sizes up to 4 KiB (-W -a)" { dtest_passes -b 4096 -W -a; }
@test "Debian's dtest passes on our libraries: times of each step (-t)" {
    dtest_passes -b 4096 -t
    has client '^[0-9]+: TOTAL: '
    has client '^[0-9]+: EP create: '
}

@test "Debian's dtest passes on our libraries: from 1 byte to 16 MiB" {
    for size in 1 2 63 64 65 256 257 1000 4095 65536 1048576; do
        echo "size $size"
        dtest_passes -b "$size" -B 100
    done
    # Each burst takes another 16 MiB of fresh memory.
    dtest_passes -b 16777216 -B "$(is_long_run && echo 10 || echo 2)"
}

@test "Debian's dtest passes on our libraries: every byte of 1 byte to 16 MiB checked" {
    for size in 1 64 257 4096 65536 1048576 16777216; do
        echo "size $size"
        dtest_passes -b "$size" -W -D -B 20
    done
}

@test "Debian's dapltest passes on our libraries: sends, writes and reads of 2 threads with 2 endpoints each" {
    dapltest_passes 2 2 20 client RW 4096 1 server RW 2048 4 client RR 1024 2 server RR 512 1 \
        client SR 1024 4 server SR 4096 2
}

@test "Debian's dtestx passes on our libraries: write with immediate, compare and swap, fetch and add" { dtestx_passes; }

@test "Debian's dtestcm connects 20 times over our libraries" {
    need_program dtestcm
    run_dapl_pair dtestcm -c 20
    has server 'ALL 20 CONNECTED on Server!'
    has client 'ALL 20 CONNECTED on Client!'
    has client 'DAPL Connection Test Complete\.'
    is_silent server client
    fabric_is_clean
}
