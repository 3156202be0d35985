#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Debian's perftest: every operation of a connection, measured by a program that is not ours. No number is judged, only
# that there is one for each size. Few iterations where it spins on memory without asking the device anything: on a busy machine
# each turn then costs a time slice.
load helpers

setup() { start_network; }
teardown() { stop_all; }

# With -R it listens by rdma_cm, where the kernel knows of no port, and says so just before it does.
await_server() {
    if [[ " $* " = *" -R "* ]]; then
        await_line server 'Waiting for client to connect'
    else
        await_port server 18515
    fi
}

# usage: run_pair PROGRAM OPTIONS... - with -R it connects twice, and its client asks for the second connection without knowing
# whether the server listens for it yet. A client that came too early is refused and breaks off; then both begin again.
run_pair() {
    local status tries
    for tries in {1..20}; do
        status=0
        start server env LD_PRELOAD="$softverbs" stdbuf -oL "$@"
        await_server "$@"
        start client env LD_PRELOAD="$softverbs" "$@" 127.0.0.1
        wait "${process_of[client]}" || status=$?
        unset 'process_of[client]'
        if [ "$status" -eq 0 ]; then
            await_end server
            return
        fi
        grep -q 'RDMA_CM_EVENT_REJECTED; error: 8' "$BATS_TEST_TMPDIR/client.err" || break
        kill "${process_of[server]}" 2>/dev/null || true
        wait "${process_of[server]}" || true
    done
    echo "client ended with status $status, attempt $tries"
    return 1
}

# usage: measure PROGRAM SIZES OPTIONS... - SIZES are those that the report must have a row for.
measure() {
    local program=$1 sizes=$2 size
    shift 2
    need_program "$program" ibv_devinfo
    run_pair "$program" "$@"
    for size in $sizes; do
        has client "^ *$size[[:space:]]+[0-9]+([[:space:]]+[0-9.]+){3,}"
    done
    unexpected=$(cat "$BATS_TEST_TMPDIR"/{server,client}.{out,err} | grep -iE 'error|fail|warn|unable|couldn|problem' || true)
    [ -z "$unexpected" ] || { echo "unexpected: $unexpected"; return 1; }
    # Some of its programs end without closing the device.
    fabric_gets_clean
}

@test "ib_write_lat: 2 bytes" { measure ib_write_lat 2 -F -n 200; }
@test "ib_write_lat: 64 KiB" { measure ib_write_lat 65536 -F -n 100 -s 65536; }
@test "ib_write_lat -a: every size from 2 bytes to 8 MiB" {
    measure ib_write_lat "2 64 256 4096 65536 1048576 8388608" -F -n 5 -a
}
@test "ib_send_bw: 64 KiB" { measure ib_send_bw 65536 -F -n 1000; }
@test "ib_send_bw: 64 bytes, both directions" { measure ib_send_bw 64 -F -n 1000 -s 64 -b; }
@test "ib_send_bw -e: sleeping for completion events" { measure ib_send_bw 4096 -F -n 1000 -s 4096 -e; }
@test "ib_send_bw -r 8: a receive queue that often runs empty" { measure ib_send_bw 4096 -F -n 1000 -s 4096 -r 8; }
@test "ib_send_lat: 64 bytes" { measure ib_send_lat 64 -F -n 1000 -s 64; }
@test "ib_write_bw: 64 KiB over 4 queue pairs" { measure ib_write_bw 65536 -F -n 500 -q 4; }
# Unreliable sends: fewer than the receives that are posted at the start, since what finds none is lost and waited for in vain.
@test "ib_send_lat -c UC: 64 bytes" { measure ib_send_lat 64 -F -n 400 -s 64 -c UC; }
@test "ib_send_bw -c UC: 4 KiB" { measure ib_send_bw 4096 -F -n 400 -s 4096 -c UC; }
@test "ib_write_lat -c UC: 64 bytes" { measure ib_write_lat 64 -F -n 200 -s 64 -c UC; }
@test "ib_write_bw -c UC: 64 KiB" { measure ib_write_bw 65536 -F -n 500 -c UC; }
@test "ib_send_lat -c UD: 64 bytes" { measure ib_send_lat 64 -F -n 400 -s 64 -c UD; }
@test "ib_send_bw -c UD: 4 KiB" { measure ib_send_bw 4096 -F -n 400 -s 4096 -c UD; }
@test "ib_send_bw -c UD -q 2 -e: two queue pairs, sleeping for completion events" {
    measure ib_send_bw 1024 -F -n 200 -s 1024 -c UD -q 2 -e
}
@test "ib_read_lat: 4 KiB" { measure ib_read_lat 4096 -F -n 500 -s 4096; }
@test "ib_read_bw: 64 KiB" { measure ib_read_bw 65536 -F -n 500; }
@test "ib_atomic_lat: fetch and add" { measure ib_atomic_lat 8 -F -n 500; }
@test "ib_atomic_bw: compare and swap" { measure ib_atomic_bw 8 -F -n 500 -A CMP_AND_SWAP; }
@test "ib_send_lat -R: connected by rdma_cm" { measure ib_send_lat 64 -F -n 500 -s 64 -R; }
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
@test "ib_send_bw --use-srq -q 2: receives from a shared queue" { measure ib_send_bw 4096 -F -n 300 -s 4096 -q 2 --use-srq; }
