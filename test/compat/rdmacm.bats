#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs programs that connect by rdma_cm: Debian's rdmacm-utils, and the example of doc/examples.
load helpers

setup() { start_network; }
teardown() { stop_all; }

# The kernel knows no port of an rdma_cm listener, so the tests wait for the server's own message.
# stdbuf makes the servers write each line at once.
rping_server() {
    start server env LD_PRELOAD="$softverbs" stdbuf -oL rping -s -a 127.0.0.1 -p 7174 -d "$@"
    await_line server '^rdma_listen$'
}

# usage: rping_pair COUNT OPTIONS... - each ping's data must come back as it was sent (-V).
rping_pair() {
    local count=$1
    shift
    need_program rping
    rping_server -V -C "$count" "$@"
    start client env LD_PRELOAD="$softverbs" rping -c -a 127.0.0.1 -p 7174 -v -V -C "$count" "$@"
    await_rping client
    await_rping server
    [ "$(grep -c '^ping data: rdma-ping-[0-9]*:' "$BATS_TEST_TMPDIR/client.out")" -eq "$count" ]
    unexpected=$(grep -hiE 'error|fail|mismatch' "$BATS_TEST_TMPDIR"/{server,client}.{out,err} || true)
    [ -z "$unexpected" ] || { echo "unexpected: $unexpected"; return 1; }
    fabric_gets_clean
}

@test "rping: 100 pings of 100 bytes, validated" { rping_pair 100; }
@test "rping: 20 pings of 64 KiB, validated" { rping_pair 20 -S 65535; }
@test "rping -q: the program moves the queue pair itself" { rping_pair 20 -q; }

@test "rping: a client without a server is refused" {
    need_program rping
    start client env LD_PRELOAD="$softverbs" rping -c -a 127.0.0.1 -p 7174 -C 1
    status=0
    wait "${process_of[client]}" || status=$?
    unset 'process_of[client]'
    [ "$status" -ne 0 ]
    [ "$status" -ne 124 ]
    grep -hE 'REJECTED|UNREACHABLE' "$BATS_TEST_TMPDIR"/client.{out,err}
    fabric_gets_clean
}

@test "ucmatose: 20 connections, 10 messages of 1000 bytes each way" {
    need_program ucmatose
    start server env LD_PRELOAD="$softverbs" stdbuf -oL ucmatose -c 20 -C 10 -S 1000
    await_line server 'starting server'
    eventually ucmatose_client
    await_end server
    has server '^test complete$'
    has server '^return status 0$'
    has client '^test complete$'
    has client '^return status 0$'
    is_silent server client
    fabric_is_clean
}

# ucmatose's server prints nothing between its start and listen, so a client that is refused tries
# again.
ucmatose_client() {
    run_to_end client env LD_PRELOAD="$softverbs" ucmatose -c 20 -C 10 -S 1000 -s 127.0.0.1
}

# usage: udaddy_pair OPTIONS... - asks for 5 queue pairs; each gets 20 messages and sends 20 back.
udaddy_pair() {
    need_program udaddy
    start server env LD_PRELOAD="$softverbs" stdbuf -oL udaddy -c 5 -C 20 "$@"
    await_line server 'starting server'
    eventually udaddy_client "$@"
    await_end server
    for side in server client; do
        has "$side" '^data transfers complete$'
        has "$side" '^return status 0$'
    done
    is_silent server client
    fabric_is_clean
}

# Like ucmatose's client, one that finds no listener tries again.
udaddy_client() {
    run_to_end client env LD_PRELOAD="$softverbs" udaddy -c 5 -C 20 -s 127.0.0.1 "$@"
}

@test "udaddy: 5 datagram queue pairs, 20 messages of 100 bytes each way" { udaddy_pair; }
@test "udaddy -S 4096: messages as long as the path takes" { udaddy_pair -S 4096; }

# usage: mckey_group OPTIONS... - two receivers join a group and get what a sender sends to it, which
# has the options in the array `sender_options` too. Each of them sleeps for 3 s once it has joined
# the group. The receivers have posted their receives by then, so the sender need not wait for them.
mckey_group() {
    need_program mckey
    local side
    for side in first second; do
        start "$side" env LD_PRELOAD="$softverbs" stdbuf -oL mckey "$@"
        await_line "$side" '^mckey: joined dgid: '
    done
    run_to_end sender env LD_PRELOAD="$softverbs" mckey -s "$@" "${sender_options[@]}"
    for side in first second; do await_end "$side"; done
    for side in first second sender; do
        has "$side" '^data transfers complete$'
        has "$side" '^return status 0$'
    done
    is_silent first second sender
    fabric_is_clean
}

@test "mckey: two receivers of an IPv4 group" {
    mckey_group -m 239.1.2.3 -C 20
    has sender '^mckey: joined dgid: ff12:4001:ffff::f01:203 '
}
@test "mckey: an IPv6 group, joined by three queue pairs each, messages of 4096 bytes" {
    mckey_group -m ff02::5 -c 3 -C 20 -S 4096
    has sender '^mckey: joined dgid: ff12:6001:ffff::5 '
}
@test "mckey -M: a group by its GID" {
    mckey_group -M ff12:1234::9 -b 127.0.0.1
    has sender '^mckey: joined dgid: ff12:1234::9 '
}
@test "mckey -o -l: a sender that only sends, and without loopback" {
    sender_options=(-o -l)
    mckey_group -m 239.1.2.3
}
@test "mckey -p 2: IPoIB's port space" {
    mckey_group -m 239.1.2.3 -p 0x2
    has sender '^mckey: joined dgid: ff12:401b:ffff::f01:203 '
}

# usage: synchronous SERVER CLIENT OPTIONS... - runs rdmacm-utils' examples of synchronous calls.
# The server reports its start, not when it listens: a client that comes too early is refused and
# tries again.
synchronous() {
    local server=$1 client=$2
    shift 2
    need_program "$server" "$client"
    start server env LD_PRELOAD="$softverbs" stdbuf -oL "$server" -p 7471 "$@"
    await_line server "^$server: start$"
    eventually run_to_end client env LD_PRELOAD="$softverbs" "$client" -s 127.0.0.1 -p 7471 "$@"
    await_end server
    has server "^$server: end 0$"
    has client "^$client: end 0$"
    is_silent server client
    fabric_gets_clean
}

@test "rdma_client and rdma_server: endpoints without an event loop" { synchronous rdma_server rdma_client; }
@test "rdma_xclient and rdma_xserver: the same with reliable connections" { synchronous rdma_xserver rdma_xclient -c r; }

@test "rdma_xserver -c x: is told that rdma_cm connects no XRC queue pairs" {
    need_program rdma_xserver
    local status=0
    start server env LD_PRELOAD="$softverbs" rdma_xserver -c x
    wait "${process_of[server]}" || status=$?
    unset 'process_of[server]'
    [ "$status" -eq 255 ]
    grep -F 'rdma_create_ep: Operation not supported' "$BATS_TEST_TMPDIR/server.err"
}

# usage: adds FIRST SECOND SUM
adds() {
    local example=$TOP_BUILDDIR/doc/examples/verbs_add
    start server env LD_PRELOAD="$softverbs" "$example" server 7471
    await_line server '^listening on port 7471$'
    run_to_end client env LD_PRELOAD="$softverbs" "$example" client 127.0.0.1 7471 "$1" "$2"
    await_end server
    [ "$(output_of client)" = "$1 + $2 = $3" ]
    is_silent server client
    fabric_is_clean
}

@test "verbs_add: RDMA write of the first number, send of the second, receive of the sum" {
    adds 2 3 5
    adds 0 0 0
    adds 4294967295 1 4294967296
    adds 1234567890123456789 987654321 1234567891111111110
    adds 18446744073709551615 1 0
}
