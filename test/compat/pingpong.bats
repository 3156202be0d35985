#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's ibv_rc_pingpong, ibv_uc_pingpong, ibv_ud_pingpong and ibv_srq_pingpong, which
# exchange LID, QP number and GID over TCP, then messages.
load helpers

setup() {
    need_program ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ibv_devinfo
    program=ibv_rc_pingpong
    start_network
}
teardown() { stop_all; }

# usage: pingpong SIZE ITERATIONS OPTIONS... - runs ${program} in both roles; both sides must report
# every byte of both directions, and end well.
pingpong() {
    local size=$1 iterations=$2
    shift 2
    start server env LD_PRELOAD="$softverbs" "$program" -s "$size" -n "$iterations" "$@"
    await_port server 18515
    run_to_end client env LD_PRELOAD="$softverbs" "$program" -s "$size" -n "$iterations" "$@" 127.0.0.1
    await_end server
    for side in server client; do
        has "$side" "^$((2 * size * iterations)) bytes in [0-9.]+ seconds = [0-9.]+ Mbit/sec$"
        has "$side" "^$iterations iters in [0-9.]+ seconds = [0-9.]+ usec/iter$"
    done
    is_silent server client
    fabric_is_clean
}

@test "ibv_rc_pingpong: 1000 messages of 4096 bytes" { pingpong 4096 1000; }
@test "ibv_rc_pingpong: one byte" { pingpong 1 1000; }
@test "ibv_rc_pingpong: 64 bytes" { pingpong 64 1000; }
@test "ibv_rc_pingpong: 1 MiB, received bytes validated" { pingpong 1048576 50 -c; }
@test "ibv_rc_pingpong: received bytes validated" { pingpong 4096 200 -c; }
@test "ibv_rc_pingpong -e: sleeping for completion events" { pingpong 4096 1000 -e; }
@test "ibv_rc_pingpong -e: 1 MiB, sleeping for completion events" { pingpong 1048576 50 -e; }
@test "ibv_rc_pingpong -g 0: addressed by GID" { pingpong 4096 200 -g 0; }
@test "ibv_rc_pingpong -N: sends built one by one" { pingpong 4096 1000 -N; }
@test "ibv_rc_pingpong -N -e -c: sends built one by one, sleeping, received bytes validated" { pingpong 65536 200 -N -e -c; }
@test "ibv_uc_pingpong: received bytes validated" {
    program=ibv_uc_pingpong
    pingpong 4096 1000 -c
}
@test "ibv_uc_pingpong -e: 64 KiB, sleeping for completion events" {
    program=ibv_uc_pingpong
    pingpong 65536 200 -e
}
@test "ibv_ud_pingpong: received bytes validated" {
    program=ibv_ud_pingpong
    pingpong 2048 1000 -c
}
@test "ibv_ud_pingpong -e -g 0: sleeping for completion events, with route headers" {
    program=ibv_ud_pingpong
    pingpong 4096 500 -e -g 0
}
@test "ibv_srq_pingpong: 4 queue pairs take their receives from one shared queue" {
    program=ibv_srq_pingpong
    pingpong 4096 1000 -q 4
}
@test "ibv_srq_pingpong -e: sleeping for completion events" {
    program=ibv_srq_pingpong
    pingpong 4096 1000 -q 2 -e
}

@test "ibv_rc_pingpong -t: timestamps of completions" {
    pingpong 4096 1000 -t
    has server '^Average receive completion clock cycles = [0-9.]+$'
    has client '^Average receive completion clock cycles = [0-9.]+$'
}
@test "ibv_rc_pingpong -o: memory on demand, received bytes validated" { pingpong 65536 200 -o -c; }
@test "ibv_rc_pingpong -O -P: an implicit region, brought in before" { pingpong 65536 200 -O -P; }
@test "ibv_rc_pingpong -j: device memory" { pingpong 4096 1000 -j; }

# usage: crosses OPTIONS... - runs ibv_xsrq_pingpong in both roles. Each opens an XRC domain of the
# same file.
crosses() {
    need_program ibv_xsrq_pingpong
    start server env LD_PRELOAD="$softverbs" ibv_xsrq_pingpong "$@"
    await_port server 18515
    run_to_end client env LD_PRELOAD="$softverbs" ibv_xsrq_pingpong "$@" 127.0.0.1
    await_end server
    has server '^success$'
    has client '^success$'
    is_silent server client
    fabric_is_clean
}

@test "ibv_xsrq_pingpong: messages through XRC to the shared receive queue that each names" { crosses -n 1000; }
@test "ibv_xsrq_pingpong: one byte" { crosses -s 1 -n 1000; }
@test "ibv_xsrq_pingpong -e: 64 KiB, sleeping for completion events" { crosses -s 65536 -n 200 -e; }
@test "ibv_xsrq_pingpong -c 2: a server that reaches one client's queue through the other is told that domains are not shared" {
    need_program ibv_xsrq_pingpong
    start server env LD_PRELOAD="$softverbs" ibv_xsrq_pingpong -c 2
    await_port server 18515
    start first env LD_PRELOAD="$softverbs" ibv_xsrq_pingpong 127.0.0.1
    start second env LD_PRELOAD="$softverbs" ibv_xsrq_pingpong 127.0.0.1
    eventually grep -F DAT313 "$BATS_TEST_TMPDIR/server.err"
}

@test "kill -9 of an ibv_rc_pingpong server gives its client an error, and leaves nothing that the next process does not clean" {
    start server env LD_PRELOAD="$softverbs" stdbuf -oL ibv_rc_pingpong -n 1000000000
    await_port server 18515
    start client env LD_PRELOAD="$softverbs" stdbuf -oL ibv_rc_pingpong -n 1000000000 127.0.0.1
    await_line server 'remote address'
    await_line client 'remote address'
    victim=$(pgrep -n -P "${process_of[server]}" ibv_rc_pingpong)
    kill -KILL "$victim"
    status=0
    wait "${process_of[client]}" || status=$?
    unset 'process_of[client]'
    [ "$status" -ne 0 ]
    [ "$status" -ne 124 ]
    grep -E 'Failed status .* for wr_id|Couldn.t post' "$BATS_TEST_TMPDIR/client.err"
    fabric_gets_clean
}
