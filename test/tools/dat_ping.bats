#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs dat_ping between real processes over soft0, by rdma_cm and over sockets.
load ../compat/helpers

setup() {
    need_program jq
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
    dat_ping=$TOP_BUILDDIR/dat_ping
    [ ! -x "$TOP_BUILDDIR/.libs/dat_ping" ] || dat_ping=$TOP_BUILDDIR/.libs/dat_ping
}
teardown() { stop_all; }

start_server() {
    start server "${stack[@]}" "$dat_ping" --listen -i ia "$@"
    await_line server '^listening at 127\.0\.0\.1 over ia, qualifier [0-9]+$'
}

# usage: stop NAME SIGNAL - signals the program, not `timeout` in front of it.
stop() {
    kill -s "$2" "$(pid_of "$1")"
}
pid_of() {
    local pid=${process_of[$1]} child
    while child=$(pgrep -P "$pid" | head -n 1) && [ -n "$child" ]; do pid=$child; done
    echo "$pid"
}

# usage: pings STATUS OPTIONS... - dat_ping must end with STATUS; its output goes to ping.out. The
# long timeout keeps a busy machine from losing an answer.
pings() {
    local wanted=$1 status=0
    shift
    start ping "${stack[@]}" "$dat_ping" -i ia -W 60 "$@"
    wait "${process_of[ping]}" || status=$?
    unset 'process_of[ping]'
    [ "$status" -eq "$wanted" ] || { echo "it ended with status $status"; return 1; }
}

# usage: json FILTER - FILTER must hold for the document in ping.out, and the document must match
# its schema.
json() {
    "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/dat_ping.json" <"$BATS_TEST_TMPDIR/ping.out"
    jq -e "$1" "$BATS_TEST_TMPDIR/ping.out" >/dev/null || { echo "the document lacks: $1"; return 1; }
}

@test "dat_ping ADDRESS prints each answer and ping's summary, and the server who came and went" {
    start_server
    pings 0 127.0.0.1 -c 3 -i 0.01
    is_silent ping
    prints ping <<'LINES'
PING 127\.0\.0\.1 \(127\.0\.0\.1\) over ia, qualifier 45311: 64 bytes
64 bytes from 127\.0\.0\.1: seq=1 time=[0-9]+\.[0-9]{3} ms
64 bytes from 127\.0\.0\.1: seq=2 time=[0-9]+\.[0-9]{3} ms
64 bytes from 127\.0\.0\.1: seq=3 time=[0-9]+\.[0-9]{3} ms
--- 127\.0\.0\.1 dat_ping statistics ---
3 packets transmitted, 3 received, 0% packet loss, time [0-9]+ms
rtt min/avg/max/mdev = ([0-9]+\.[0-9]{3}/){3}[0-9]+\.[0-9]{3} ms
LINES
    await_line server '^127\.0\.0\.1: gone, 3 answered$'
    stop server INT
    await_end server
    is_silent server
    fabric_is_clean
}

@test "dat_ping works over sockets (libdaploscm) as over rdma_cm" {
    use_stack ours libdaploscm.so.2 'soft0 1' preload
    start_server
    pings 0 127.0.0.1 -c 3 -i 0.01 -q
    is_silent ping
    has ping '^3 packets transmitted, 3 received, 0% packet loss, time '
    stop server TERM
    await_end server
}

@test "dat_ping works by datagrams (libdaploucm), with the address that the listening side prints" {
    local address
    use_stack ours libdaploucm.so.2 'soft0 1' preload
    start server "${stack[@]}" "$dat_ping" --listen -i ia
    await_line server '^listening at [0-9]+/[0-9]+/[0-9a-f:]+ over ia, qualifier 45311$'
    address=$(sed -n 's/^listening at \([^ ]*\) .*/\1/p' "$BATS_TEST_TMPDIR/server.out")
    for address in "$address" "${address%/*}"; do
        pings 0 "$address" -c 3 -i 0.01 -q
        is_silent ping
        has ping '^3 packets transmitted, 3 received, 0% packet loss, time '
    done
    stop server TERM
    await_end server
}

@test "dat_ping over datagrams refuses what is not the address of a queue pair" {
    local address
    use_stack ours libdaploucm.so.2 'soft0 1' preload
    for address in 127.0.0.1 1 1/0 1/x 65536/2 1/16777216 1/2/ 1/2/z 1/2fe80::1; do
        pings 2 "$address"
        grep -qF "'$address': expected LID/QPN or LID/QPN/GID" "$BATS_TEST_TMPDIR/ping.err" || { cat "$BATS_TEST_TMPDIR/ping.err"; return 1; }
    done
}

@test "dat_ping finds a host by its name, and sends messages of the smallest and the largest size" {
    start_server -p 4711
    pings 0 localhost -p 4711 -c 2 -i 0.01 -s 24
    has ping '^PING localhost \(127\.0\.0\.1\) over ia, qualifier 4711: 24 bytes$'
    pings 0 localhost -p 4711 -c 2 -i 0.01 -s 1048576
    has ping '^1048576 bytes from 127\.0\.0\.1: seq=2 time='
    is_silent ping
}

@test "dat_ping --json prints the document that its schema describes, with and without answers" {
    pings 1 --json 127.0.0.1 -c 2 -i 0.01
    json '.transmitted == 2 and .received == 0 and .loss_percent == 100 and .rtt_ms == null'
    json '.losses == [{"why": "nobody listens there", "count": 2}]'
    start_server
    pings 0 --json 127.0.0.1 -c 5 -i 0.01
    json '.tool == "dat_ping" and .version == 1 and .transmitted == 5 and .received == 5 and .losses == []'
    json '.rtt_ms | .min <= .avg and .avg <= .max and .min > 0'
}

@test "dat_ping ends with 1 where nobody answers, and says why" {
    pings 1 127.0.0.1 -c 2 -i 0.01
    has ping '^no answer from 127\.0\.0\.1: seq=2: nobody listens there$'
    has ping '^2 packets transmitted, 0 received, 100% packet loss, time [0-9]+ms$'
    pings 1 192.0.2.1 -c 1
    has ping '^no answer from 192\.0\.2\.1: seq=1: the address cannot be reached$'
}

@test "dat_ping that is interrupted prints its summary" {
    start_server
    start ping "${stack[@]}" "$dat_ping" -i ia 127.0.0.1 --interval 0.01 -W 60
    await_line ping 'seq=3 '
    stop ping INT
    await_end ping
    has ping '^[0-9]+ packets transmitted, [0-9]+ received, 0% packet loss, time [0-9]+ms$'
    is_silent ping
}

@test "dat_ping --deadline ends all, with 1 where a count was not reached by then" {
    start_server
    pings 0 127.0.0.1 -w 60 -i 0.01 -c 2 -q
    pings 1 127.0.0.1 -w 1 -i 0.01 -c 1000000 -q
    has ping '^[0-9]+ packets transmitted, [0-9]+ received'
}

@test "dat_ping --flood asks again as soon as the answer is there" {
    start_server
    pings 0 127.0.0.1 --flood -c 5000
    has ping '^5000 packets transmitted, 5000 received, 0% packet loss, time '
    is_silent ping
}

@test "dat_ping loses what a stopped or ended server does not answer, and goes on when one is there again" {
    start_server
    start ping "${stack[@]}" "$dat_ping" -i ia 127.0.0.1 --interval 0.05 -t 0.5
    await_line ping 'time='
    stop server STOP
    await_line ping '^no answer from 127\.0\.0\.1: seq=[0-9]+: '
    stop server CONT
    answers_again() { tail -n 1 "$BATS_TEST_TMPDIR/ping.out" | grep -q 'time='; }
    eventually_alive ping answers_again
    stop server KILL
    wait "${process_of[server]}" || true
    await_line ping '^no answer from 127\.0\.0\.1: seq=[0-9]+: nobody listens there$'
    start_server
    eventually_alive ping answers_again
    stop ping INT
    await_end ping
}

@test "dat_ping --listen serves several clients at once" {
    start_server
    local i
    for i in 1 2 3 4; do start "client$i" "${stack[@]}" "$dat_ping" -i ia 127.0.0.1 -W 60 -c 200 --flood -s $((i * 1000)); done
    for i in 1 2 3 4; do
        await_end "client$i"
        has "client$i" '^200 packets transmitted, 200 received, 0% packet loss, time '
    done
    [ "$(grep -c ' bytes a message$' "$BATS_TEST_TMPDIR/server.out")" -eq 4 ]
}

@test "dat_ping ends with 2 for wrong usage, unknown adapters and hosts, and a qualifier in use" {
    pings 2
    grep -q '^dat_ping: either --listen or a HOST is required; dat_ping --help lists the options$' "$BATS_TEST_TMPDIR/ping.err"
    pings 2 --listen 127.0.0.1
    pings 2 127.0.0.1 -s 23
    pings 2 127.0.0.1 -i x
    pings 2 -I nowhere 127.0.0.1
    grep -q '^dat_ping: dat_ia_open nowhere: .*; see the preceding message$' "$BATS_TEST_TMPDIR/ping.err"
    pings 2 no.such.host.invalid
    start_server
    pings 2 --listen
    grep -q '^dat_ping: dat_psp_create: DAT_CONN_QUAL_IN_USE .*choose another --port$' "$BATS_TEST_TMPDIR/ping.err"
}
