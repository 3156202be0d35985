#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine: --limit 2400
# Runs programs with both ends on one device of the kernel: our dtest and dtest_ext, and Debian's
# dtest, dtestx, dtestcm, dtestsrq and dapltest unmodified on our libdat2 and our providers. Each is
# judged by what it prints. Counts are small: the devices are emulated.
load helpers
load ../compat/dapl_programs

teardown() { stop_all; }

on_cma_rxe() { use_device ours cma rxe0; }
on_cma_siw() { use_device ours cma siw0; }
on_scm_rxe() { use_device ours scm rxe0; }
on_ucm_rxe() { use_device ours ucm rxe0; }

our_messages() {
    our_dtest_passes -b 4096 -B 50
    our_dtest_passes -b 4096 -B 50 -p
}
our_writes() {
    our_dtest_passes -W -B 200 -b 64
    our_dtest_passes -w -u -B 100 -b 65536
}

# Debian's dtest registers memory before it listens, and its client tries only once: the buffers are
# small, and run_dapl_pair begins again. Options are as in the reference's own tests, with fewer
# rounds.
debian_messages() {
    dtest_passes -t -b 4096
    dtest_passes -t -b 4096 -p
}
debian_writes() {
    dtest_passes -W -B 200 -b 64 -t
    dtest_passes -w -u -B 100 -b 65536 -t
}

sends_pass() {
    transaction_passes 1 1 100 0 client SR 256 1 server SR 256 1
    transaction_passes 1 1 200 0 -P client SR 64 1 server SR 64 1
}

performances_pass() {
    start_dapltest_server
    performance_passes 128 p RW 4096 16
    performance_passes 100 p RW 64 1
    performance_passes 64 p RR 4096 4
    performance_passes 64 b RW 65536 16
    quit_dapltest_server
}

connections_pass() {
    dtestcm_passes 20 1
    dtestcm_passes 200 1
}

small_limits_are_reached() { limits_are_reached 20 ia pz cno evd ep rsp psp lmr rpost; }

@test "our dtest, waiting and polling, on rxe with cma" { on_cma_rxe; our_messages; }
@test "our dtest, waiting and polling, on siw with cma" { on_cma_siw; our_messages; }
@test "our dtest, writes ping-pong and in a stream, on rxe with cma" { on_cma_rxe; our_writes; }
@test "our dtest, writes ping-pong and in a stream, on siw with cma" { on_cma_siw; our_writes; }

@test "our dtest_ext, all checks, on rxe with cma" { on_cma_rxe; our_dtest_ext_passes 25 0; }
@test "our dtest_ext, all checks, on rxe with scm" { on_scm_rxe; our_dtest_ext_passes 25 0; }
@test "our dtest_ext, all checks, on rxe with ucm" { on_ucm_rxe; our_dtest_ext_passes 25 0; }
# siw has no immediate data, no atomic operations and no datagrams of its own: writes with immediate
# data are those of the proposal of 2005, each a write and a send of 4 bytes.
@test "our dtest_ext, what an iWARP device can do, on siw with cma" {
    on_cma_siw
    our_dtest_ext_passes 9 16
    has client '^transfers of the proposal of 2005: passed: a write with immediate data and a send each way'
    has client '^delayed acknowledgement: passed: refused, as delayed_ack_supported says$'
}

@test "Debian's dtest, waiting and polling, on rxe with cma" { on_cma_rxe; debian_messages; }
@test "Debian's dtest, waiting and polling, on siw with cma" { on_cma_siw; debian_messages; }
@test "Debian's dtest, writes ping-pong and in a stream, on rxe with cma" { on_cma_rxe; debian_writes; }
@test "Debian's dtest, writes ping-pong and in a stream, on siw with cma" { on_cma_siw; debian_writes; }

@test "Debian's dtestx, write with immediate data and atomic operations, on rxe with cma" { on_cma_rxe; dtestx_passes; }
@test "Debian's dtestx says that there are no such operations on siw with cma" {
    on_cma_siw
    need_program dtestx
    start_serving dtestx -s -P ia
    local status=0
    wait "${process_of[server]}" || status=$?
    unset 'process_of[server]'
    [ "$status" -eq 1 ]
    has server 'IB extension not supported'
}

@test "Debian's dtestcm, 20 and 200 connections, on rxe with cma" { on_cma_rxe; connections_pass; }
@test "Debian's dtestcm, 20 and 200 connections, on siw with cma" { on_cma_siw; connections_pass; }

@test "Debian's dtestsrq, shared receives with the event after the last one, on rxe with cma" { on_cma_rxe; dtestsrq_passes 4 5 10; }
@test "Debian's dtestsrq, shared receives with the event after the last one, on siw with cma" { on_cma_siw; dtestsrq_passes 4 5 10; }

@test "Debian's dapltest, sends waiting and polling, on rxe with cma" { on_cma_rxe; sends_pass; }
@test "Debian's dapltest, sends waiting and polling, on siw with cma" { on_cma_siw; sends_pass; }
@test "Debian's dapltest, all operations of 2 threads with 2 endpoints each with validation, on rxe with cma" { on_cma_rxe; mixed_passes 2; }
@test "Debian's dapltest, all operations of 2 threads with 2 endpoints each with validation, on siw with cma" { on_cma_siw; mixed_passes 1; }
@test "Debian's dapltest, performance, on rxe with cma" { on_cma_rxe; performances_pass; }
@test "Debian's dapltest, performance, on siw with cma" { on_cma_siw; performances_pass; }
@test "Debian's dapltest, limits, on rxe with cma" { on_cma_rxe; small_limits_are_reached; }
@test "Debian's dapltest, limits, on siw with cma" { on_cma_siw; small_limits_are_reached; }
@test "Debian's dapltest, features, on rxe with cma" { on_cma_rxe; features_pass; }
@test "Debian's dapltest, features, on siw with cma" { on_cma_siw; without_memory_windows=yes features_pass; }

@test "our dtest, waiting and polling, on rxe with scm" { on_scm_rxe; our_messages; }
@test "our dtest, writes ping-pong and in a stream, on rxe with scm" { on_scm_rxe; our_writes; }
@test "Debian's dtest, waiting and polling, on rxe with scm" { on_scm_rxe; debian_messages; }
@test "Debian's dtestcm, 20 and 200 connections, on rxe with scm" { on_scm_rxe; connections_pass; }
@test "Debian's dapltest, sends waiting and polling, on rxe with scm" { on_scm_rxe; sends_pass; }
@test "Debian's dapltest, all operations of 2 threads with 2 endpoints each with validation, on rxe with scm" { on_scm_rxe; mixed_passes 2; }
