#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs the reference's whole stack, Debian's libdat2, providers and test programs, on our device.
load helpers

setup() {
    need_program dtest dapltest
    need_library libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2
    start_network
    export DAPL_SCM_NETDEV=lo
}
teardown() { stop_all; }

on_cma() { use_stack debian "$(installed libdaplofa.so.2)" 'lo 0' preload; }
# On a busy machine, its socket manager hands on a request whose private data has not arrived yet.
on_scm() {
    use_stack debian "$(installed libdaploscm.so.2)" 'soft0 1' preload
    lost_races+='|Error with CONNECT REQUEST private data'
}

@test "reference's dtest over its cma provider" { on_cma && dtest_passes -b 4096; }
@test "reference's dtest over its cma provider, 4 MiB" { on_cma && dtest_passes; }
@test "reference's dtest -p over its cma provider" { on_cma && dtest_passes -b 4096 -p; }
@test "reference's dtest -W -D over its cma provider: every byte of the written data is checked" {
    on_cma && dtest_passes -b 65536 -W -D
}
@test "reference's dtest over its scm provider" { on_scm && dtest_passes -b 4096; }
@test "reference's dtest over its scm provider, 4 MiB" { on_scm && dtest_passes; }
@test "reference's dtest -c over its scm provider" { on_scm && dtest_passes -b 4096 -c; }

@test "reference's dapltest over its cma provider: sends, writes and reads of 2 threads with 2 endpoints each" {
    on_cma
    dapltest_passes 2 2 20 client RW 4096 1 server RW 2048 4 client RR 1024 2 server RR 512 1 \
        client SR 1024 4 server SR 4096 2
}
@test "reference's dapltest over its scm provider: sends" {
    on_scm
    dapltest_passes 1 1 100 client SR 256 1 server SR 256 1
}

@test "reference's dtestx over its cma provider: write with immediate, compare and swap, fetch and add" {
    on_cma
    dtestx_passes
}

@test "reference's dtestsrq over its cma provider: 2 connections share a receive queue, and see the last-WQE event" {
    need_program dtestsrq
    on_cma
    start server "${stack[@]}" stdbuf -oL dtestsrq -s -c 2 -P ia
    await_line server 'server ready on port'
    run_to_end client "${stack[@]}" dtestsrq -c 2 -P ia -h 127.0.0.1
    await_end server
    has client 'DAPL RC SRQ Test Complete\.'
    has server 'DAPL RC SRQ Test Complete\.'
}
