#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's qperf: an atomic operation that it verifies, and one measurement for each kind of
# queue pair. qperf_long.bats has the others.
load qperf

@test "qperf ver_rc_fetch_add: every result of fetch and add, verified" { measure rate ver_rc_fetch_add; }
@test "qperf rc_lat -cp 0: sleeping for completion events" { measure latency -cp 0 rc_lat; }
@test "qperf uc_rdma_write_poll_lat: polling the last byte of a write" { measure latency uc_rdma_write_poll_lat; }
@test "qperf ud_lat: datagrams" { measure latency ud_lat; }
