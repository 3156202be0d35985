#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's verbs programs under `softverbs run --check`: nothing is found, or what
# opendat_check(7) explains.
load ../compat/helpers

setup() { start_network; }
teardown() { stop_all; }

# usage: under_checks CHECKS PROGRAM... - puts the command into the array `checked`.
under_checks() { checked=("$TOP_BUILDDIR/softverbs" run --only "--check=$1" stdbuf -oL "${@:2}"); }

# usage: tells_nothing - neither side has been told of anything.
tells_nothing() {
    never grep -hE '\[DAT4[0-9]{2}\]' "$BATS_TEST_TMPDIR"/*.err "$BATS_TEST_TMPDIR"/*.out
}

# usage: pingpong CHECKS PROGRAM... - both roles end with status 0, so nothing was found.
pingpong() {
    need_program "$2"
    under_checks "$@"
    start server "${checked[@]}" -n 200
    await_port server 18515
    run_to_end client "${checked[@]}" -n 200 127.0.0.1
    await_end server
    tells_nothing
}

@test "ibv_rc_pingpong: nothing is wrong with memory, queues and objects" { pingpong memory,queues,life ibv_rc_pingpong; }
@test "ibv_rc_pingpong -e -N: nor with events and sends built one by one" { pingpong memory,queues,life ibv_rc_pingpong -e -N; }
@test "ibv_uc_pingpong: nothing is wrong with memory, queues and objects" { pingpong memory,queues,life ibv_uc_pingpong; }
@test "ibv_ud_pingpong: nothing is wrong with memory, queues and objects" { pingpong memory,queues,life ibv_ud_pingpong; }
@test "ibv_srq_pingpong: nothing is wrong with memory, queues and objects" { pingpong memory,queues,life ibv_srq_pingpong -q 4; }
@test "ibv_xsrq_pingpong: nothing is found" { pingpong on ibv_xsrq_pingpong; }

@test "ibv_rc_pingpong receives all messages into one buffer" {
    need_program ibv_rc_pingpong
    under_checks on ibv_rc_pingpong -n 200
    start server "${checked[@]}"
    await_port server 18515
    local status=0
    run_to_end client "${checked[@]}" 127.0.0.1 >/dev/null || status=$?
    [ "$status" -ne 0 ]
    grep -q '\[DAT412\]' "$BATS_TEST_TMPDIR/client.err"
    [ "$(grep -E '\[DAT4[0-9]{2}\]' "$BATS_TEST_TMPDIR/client.err" | grep -vcE '\[(DAT412|DAT449)\]')" -eq 0 ]
}

# usage: perftest PROGRAM OPTIONS... - likewise for a program of perftest.
perftest() {
    need_program "$1"
    under_checks on "$@" -d soft0 -F -n 500
    start server "${checked[@]}"
    await_port server 18515
    run_to_end client "${checked[@]}" 127.0.0.1
    await_end server
    tells_nothing
}

@test "ib_write_bw: nothing is found" { perftest ib_write_bw; }
@test "ib_write_lat: nothing is found" { perftest ib_write_lat; }
@test "ib_atomic_bw: nothing is found" { perftest ib_atomic_bw; }

@test "rping: nothing is wrong with memory, queues and objects" {
    need_program rping
    under_checks memory,queues,life rping -s -a 127.0.0.1 -p 7174 -C 20 -d
    start server "${checked[@]}"
    await_line server '^rdma_listen$'
    under_checks memory,queues,life rping -c -a 127.0.0.1 -p 7174 -C 20
    run_to_end client "${checked[@]}"
    await_end server
    tells_nothing
}

@test "fi_pingpong over verbs: nothing is found" {
    need_program fi_pingpong
    under_checks on fi_pingpong -p verbs -e msg -d soft0 -I 50
    start server "${checked[@]}"
    await_port server 47592
    run_to_end client "${checked[@]}" 127.0.0.1
    await_end server
    tells_nothing
}

@test "ucx_perftest over rc_verbs: nothing is found" {
    need_program ucx_perftest
    under_checks on env UCX_TLS=rc_verbs,ud_verbs UCX_NET_DEVICES=soft0:1 ucx_perftest -p 13337
    start server "${checked[@]}"
    await_port server 13337
    run_to_end client "${checked[@]}" 127.0.0.1 -t tag_lat -n 200 -w 10 -s 64
    await_end server
    tells_nothing
}
