#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs the other tests of Debian's qperf for queue pairs of the kinds RC, UC and UD.
load qperf

@test "qperf ver_rc_compare_swap: every result of compare and swap, verified" { measure rate ver_rc_compare_swap; }
@test "qperf ver_rc_compare_swap -cm1: the same, connected by rdma_cm" { measure rate -cm1 ver_rc_compare_swap; }
@test "qperf ver_rc_fetch_add -cm1: fetch and add, verified, connected by rdma_cm" { measure rate -cm1 ver_rc_fetch_add; }
@test "qperf rc_compare_swap_mr" { measure rate rc_compare_swap_mr; }
@test "qperf rc_fetch_add_mr" { measure rate rc_fetch_add_mr; }
@test "qperf rc_lat" { measure latency rc_lat; }
@test "qperf rc_lat -cm1: connected by rdma_cm" { measure latency -cm1 rc_lat; }
@test "qperf rc_bw" { measure bandwidth rc_bw; }
@test "qperf rc_bw -cm1: connected by rdma_cm" { measure bandwidth -cm1 rc_bw; }
@test "qperf rc_bi_bw" { measure bandwidth rc_bi_bw; }
@test "qperf rc_bi_bw -cm1: connected by rdma_cm" { measure bandwidth -cm1 rc_bi_bw; }
@test "qperf rc_rdma_read_lat" { measure latency rc_rdma_read_lat; }
@test "qperf rc_rdma_read_lat -cm1: connected by rdma_cm" { measure latency -cm1 rc_rdma_read_lat; }
@test "qperf rc_rdma_read_bw" { measure bandwidth rc_rdma_read_bw; }
@test "qperf rc_rdma_read_bw -cm1: connected by rdma_cm" { measure bandwidth -cm1 rc_rdma_read_bw; }
@test "qperf rc_rdma_write_lat" { measure latency rc_rdma_write_lat; }
@test "qperf rc_rdma_write_lat -cm1: connected by rdma_cm" { measure latency -cm1 rc_rdma_write_lat; }
@test "qperf rc_rdma_write_bw" { measure bandwidth rc_rdma_write_bw; }
@test "qperf rc_rdma_write_bw -cm1: connected by rdma_cm" { measure bandwidth -cm1 rc_rdma_write_bw; }
@test "qperf rc_rdma_write_poll_lat" { measure latency rc_rdma_write_poll_lat; }
@test "qperf rc_rdma_write_poll_lat -cm1: connected by rdma_cm" { measure latency -cm1 rc_rdma_write_poll_lat; }
@test "qperf rc_rdma_read_lat -cp 0: sleeping for completion events" { measure latency -cp 0 rc_rdma_read_lat; }
@test "qperf rc_rdma_write_lat -cp 0: sleeping for completion events" { measure latency -cp 0 rc_rdma_write_lat; }
@test "qperf uc_lat" { measure latency uc_lat; }
@test "qperf uc_bw" { measure bandwidth uc_bw; }
@test "qperf uc_bi_bw" { measure bandwidth uc_bi_bw; }
@test "qperf uc_rdma_write_lat" { measure latency uc_rdma_write_lat; }
@test "qperf uc_rdma_write_bw" { measure bandwidth uc_rdma_write_bw; }
@test "qperf ud_bw" { measure bandwidth ud_bw; }
@test "qperf ud_bi_bw" { measure bandwidth ud_bi_bw; }
@test "qperf ud_lat -cp 0: sleeping for completion events" { measure latency -cp 0 ud_lat; }
