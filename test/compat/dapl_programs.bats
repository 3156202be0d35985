#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's dtestcm, dtestsrq and dapltest, unmodified, on our libdat2 and our providers:
# libdaplsoft, and libdaplofa and libdaploucm with softverbs in place of rdma-core.
load helpers
load dapl_programs

setup() { start_network; }
teardown() { stop_all; }

on_soft() { use_stack ours libdaplsoft.so.2 'soft0 0'; }
on_ofa() { use_stack ours libdaplofa.so.2 'lo 0' preload; }
on_ucm() {
    use_stack ours libdaploucm.so.2 'soft0 1' preload
    addresses_are_queue_pairs
}

@test "Debian's dtestcm over libdaplsoft: 300 connections in bursts of 50" {
    on_soft
    dtestcm_passes 300 1 -b 50
}
@test "Debian's dtestcm over libdaplsoft: 100 connections, waiting for the events" {
    on_soft
    dtestcm_passes 100 1 -w
}
@test "Debian's dtestcm over libdaplsoft: 50 connections, a listener for each" {
    on_soft
    dtestcm_passes 50 50 -m
}
@test "Debian's dtestcm over libdaplofa: 100 connections in bursts of 25" {
    on_ofa
    dtestcm_passes 100 1 -b 25
}
@test "Debian's dtestcm over libdaploucm: 1000 connections in bursts of 100" {
    on_ucm
    dtestcm_passes 1000 1
}
@test "Debian's dtestcm over libdaploucm: 50 connections, a listener for each" {
    on_ucm
    dtestcm_passes 50 50 -m
}

@test "Debian's dtestsrq over libdaplsoft: 20 connections share a receive queue, 5 bursts of 10 messages" {
    on_soft
    dtestsrq_passes 20 5 10
}
@test "Debian's dtestsrq over libdaplofa: 4 connections share a receive queue, 5 bursts of 10 messages" {
    on_ofa
    dtestsrq_passes 4 5 10
}
@test "Debian's dtestsrq over libdaploucm: 20 connections share a receive queue, 5 bursts of 10 messages" {
    on_ucm
    dtestsrq_passes 20 5 10
}
@test "Debian's dtestsrq over libdaplsoft: the last-WQE event of each connection names its endpoint, on both sides" {
    on_soft
    dtestsrq_runs 3 2 2 -v
    local side end
    for side in server client; do
        [ "$(grep -c 'Async event 0x8003 received for EP 0x' "$BATS_TEST_TMPDIR/$side.out")" -eq 3 ]
        for end in 0 1 2; do
            has "$side" "^ valid EP\\[$end\\] 0x"
            has "$side" "^ Freed EP\\[$end\\] 0x"
        done
        has "$side" '^ SRQ Freed$'
        has "$side" '^ DAPL RC SRQ Test Complete\.$'
        ! grep -iE "invalid|unexpected|err" "$BATS_TEST_TMPDIR/$side.out" || return 1
    done
}
@test "Debian's dtestsrq over libdaplsoft: the same messages without a shared queue" {
    on_soft
    dtestsrq_runs 4 3 5 -S 0
    prints server < <(dtestsrq_lines SERVER 'none SRQ' 4 3 5)
    prints client < <(dtestsrq_lines CLIENT 'none SRQ' 4 3 5)
}

@test "Debian's dapltest -T T over libdaplsoft: 4 threads, 3 endpoints each, several segments, every byte validated" {
    on_soft
    transaction_passes 4 3 1000 3 -V client SR 1024 4 server SR 4096 2 client RW 2048 3 server RR 512 2
}
@test "Debian's dapltest -T T over libdaplofa: 2 threads, 2 endpoints each, several segments, every byte validated" {
    on_ofa
    transaction_passes 2 2 1000 3 -V client SR 1024 4 server SR 4096 2 client RW 2048 3 server RR 512 2
}
@test "Debian's dapltest -T T over libdaplsoft: polling" {
    on_soft
    transaction_passes 2 2 3000 0 -P client SR 256 1 server SR 256 1
}
@test "Debian's dapltest -T T over libdaplsoft: connections through reserved service points (-r)" {
    on_soft
    transaction_passes 2 2 3000 0 -r client SR 256 1 server SR 256 1
}

@test "Debian's dapltest -T P over libdaplsoft: RDMA writes and reads, polling and blocking" {
    on_soft
    start_dapltest_server
    performance_passes 2000 p RW 4096 8
    performance_passes 2000 b RW 65536 4
    performance_passes 2000 p RR 1024 1
    performance_passes 2000 b RR 4096 4
    quit_dapltest_server
    dapltest_server_prints 4 'Server: Finished performance test\.  Detaching\.' 'Server: Finished performance test\.  Exiting\.'
}
@test "Debian's dapltest -T P over libdaplofa: RDMA writes and reads" {
    on_ofa
    start_dapltest_server
    performance_passes 2000 p RW 4096 8
    performance_passes 2000 b RR 4096 4
    quit_dapltest_server
}

@test "Debian's dapltest -T L over libdaplsoft: 60 of each kind, as many receives as an endpoint has slots" {
    on_soft
    limits_are_reached 60
}
@test "Debian's dapltest -T L over libdaplofa: 60 of each kind, as many receives as an endpoint has slots" {
    on_ofa
    limits_are_reached 60
}

@test "Debian's dapltest -T F over libdaplsoft: hwconn, endpoint, pz, mem, connmgt and queryinfo" {
    on_soft
    features_pass
}
@test "Debian's dapltest -T F over libdaplofa: hwconn, endpoint, pz, mem, connmgt and queryinfo" {
    on_ofa
    features_pass
}
