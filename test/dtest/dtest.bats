#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests our dtest over soft0: two processes, every mode, and what it does when something is wrong.
load ../compat/helpers

setup() {
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
    dtest=$TOP_BUILDDIR/.libs/dtest
}
teardown() { stop_all; }

# usage: start_pair OPTIONS... - starts server and client. A client that has to wait long prints a
# message.
start_pair() {
    start server "${stack[@]}" "$dtest" -s -P ia "$@"
    await_port server 15828
    start client "${stack[@]}" "$dtest" -h 127.0.0.1 "$@"
}

last_line() {
    grep . "$BATS_TEST_TMPDIR/$1.out" | tail -n 1
}

# usage: passes OPTIONS... - both sides must end with status 0, report it, write nothing to standard
# error and leave nothing.
passes() {
    start_pair "$@"
    await_end client
    await_end server
    local side
    for side in server client; do
        [[ $(last_line "$side") =~ ^[0-9]+:\ DAPL\ Test\ Complete\.\ PASSED$ ]] ||
            { echo "the $side's last line does not say PASSED"; return 1; }
    done
    is_silent server client
    fabric_is_clean
}

# usage: measured SIDE OPERATION SIZE - the table must have a line for it, with a latency and a
# bandwidth above zero.
measured() {
    awk -v operation="$2" -v size="$3" '
        index($0, operation) && $1 == size && $(NF - 1) + 0 > 0 && $NF + 0 > 0 { found = 1 }
        END { exit !found }' "$BATS_TEST_TMPDIR/$1.out" || { echo "$1's table lacks '$2' of $3 bytes"; return 1; }
}

# usage: fails NAME PATTERN... - the process must end with status 1 and FAILED, with a line on
# standard error like each pattern.
fails() {
    local name=$1 status=0 pattern
    shift
    wait "${process_of[$name]}" || status=$?
    unset "process_of[$name]"
    [ "$status" -eq 1 ] || { echo "$name ended with status $status (124: by the deadline)"; return 1; }
    [[ $(last_line "$name") == *FAILED ]] || { echo "$name did not say FAILED"; return 1; }
    for pattern in "$@"; do
        grep -qE "$pattern" "$BATS_TEST_TMPDIR/$name.err" || { echo "$name did not tell '$pattern'"; return 1; }
    done
}

# usage: kill_child NAME - kills the program itself, not the timeout in front of it.
kill_child() {
    kill -KILL "$(pgrep -P "${process_of[$1]}")"
}

@test "dtest over soft0: writes, writes with immediate, reads and messages, all measured on both sides" {
    passes -b 4096 -B 200
    for side in server client; do
        for operation in 'RDMA write, both ways ' 'RDMA write with immediate, both ways ' 'RDMA read' 'message ping-pong'; do
            measured "$side" "$operation" 4096
        done
        has "$side" '^[0-9]+: Message PingPong: \(100 x 4096\) Total +[0-9.]+ us: latency [0-9.]+ us, BW [0-9.]+ MB/s$'
        has "$side" '^[0-9]+: RDMA write \(bi-direction\): Total= *[0-9.]+ usec, itime= *[0-9.]+ us, poll=0, 400 x 4096, [0-9.]+ MB/sec$'
    done
}

@test "dtest's table and its lines of results agree on each figure" {
    passes -b 4096 -B 200
    for side in server client; do
        table() { awk -v operation="$1" -v column="$2" 'index($0, operation) { print $(NF - column) }' "$BATS_TEST_TMPDIR/$side.out" | head -n 1; }
        line() { sed -nE "s/^[0-9]+: $1\$/\\1/p" "$BATS_TEST_TMPDIR/$side.out"; }
        [ "$(table 'RDMA write, both ways ' 1)" = "$(line 'RDMA write .* itime= *([0-9.]+) us.*')" ]
        [ "$(table 'RDMA write, both ways ' 0)" = "$(line 'RDMA write .* ([0-9.]+) MB.sec')" ]
        [ "$(table 'RDMA write, both ways ' 2)" = 400 ]
        [ "$(table 'message ping-pong ' 1)" = "$(line 'Message PingPong.* latency ([0-9.]+) us.*')" ]
        [ "$(table 'message ping-pong ' 0)" = "$(line 'Message PingPong.* BW ([0-9.]+) MB.s')" ]
    done
}

# usage: passes_over_ipv6 DEVICE - names DEVICE in the record, and reaches the server by its IPv6
# address.
passes_over_ipv6() {
    ip -6 address show dev lo 2>/dev/null | grep -q ::1 || skip "this machine has no IPv6"
    use_stack ours libdaplsoft.so.2 "$1"
    start server "${stack[@]}" "$dtest" -s -P ia -b 64 -B 10
    await_port server 15828
    start client "${stack[@]}" "$dtest" -h ::1 -P ia -b 64 -B 10
    await_end client
    await_end server
    is_silent server client
}
@test "dtest -h with an IPv6 address: a server whose adapter has an IPv4 address" { passes_over_ipv6 'soft0 0'; }
@test "dtest -h with an IPv6 address: a server whose adapter has an IPv6 address" { passes_over_ipv6 '::1 0'; }

@test "dtest over soft0: polling (-p)" {
    passes -b 4096 -B 200 -p
    has client '^[0-9]+ Polling$'
}
@test "dtest over soft0: waiting on a CNO (-c)" { passes -b 4096 -B 200 -c; }
@test "dtest over soft0: write stream (-w), in one direction (-u)" {
    passes -b 4096 -B 200 -w
    [ "$(grep -c 'ping-pong\|RDMA read' "$BATS_TEST_TMPDIR/client.out")" -eq 0 ]
    passes -b 4096 -B 200 -w -u
    measured client 'RDMA write ' 4096
    [ "$(grep -c 'RDMA write' "$BATS_TEST_TMPDIR/server.out")" -eq 0 ]
}
@test "dtest over soft0: write ping-pong (-W), of 1 byte unless told otherwise" {
    passes -W
    measured client 'RDMA write ping-pong' 1
}
@test "dtest over soft0: each message checked when its last byte is there (-D)" {
    passes -D -b 10000
    has client '^[0-9]+ Running DATA CHECK mode$'
    has client '^[0-9]+: RDMA write PingPong: \(1000 x 10000\) Total '
}
@test "dtest over soft0: all sizes (-W -a), and in steps (-W -i)" {
    passes -W -a -b 4096 -B 50
    measured server 'RDMA write ping-pong' 4095
    [ "$(grep -c 'RDMA write PingPong:' "$BATS_TEST_TMPDIR/client.out")" -eq 34 ]
    passes -W -i 1000 -b 3500 -B 50
    measured client 'RDMA write ping-pong' 2999
}
@test "dtest over soft0: completions asked for at other rates (-S), and times of each step (-t)" {
    passes -b 100 -B 200 -S 1
    passes -b 100 -B 500 -S 500 -t
    for step in 'RDMA read' open close 'PZ create' 'LMR create' 'EVD create' 'EP create' connect TOTAL; do
        has client "^[0-9]+: $step: +"
    done
}
@test "dtest over soft0: a server that accepts late (-d)" { passes -b 100 -B 10 -d 1; }
@test "dtest over soft0: from 1 byte to 16 MiB" {
    for size in 1 2 63 64 65 256 257 1000 4095 65536 1048577; do
        echo "size $size"
        passes -b "$size" -B 70
    done
    passes -b 16777216 -B "$(is_long_run && echo 8 || echo 2)"
}

@test "dtest: an unknown provider is told by the call, the code and the next step" {
    start server "${stack[@]}" "$dtest" -P nosuch
    fails server '^[0-9]+ Error dat_ia_open nosuch: DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED \(0x800a0064\): expected DAT_SUCCESS; see the preceding message'
}

@test "dtest: a client without a server gives up at its deadline" {
    start client "${stack[@]}" "$dtest" -h 127.0.0.1 --timeout 1
    fails client 'Error connect to 127\.0\.0\.1 TCP port 15828: Connection refused: expected a dtest server within 1 seconds'
}

@test "dtest: a second server on the machine is told that the port is taken" {
    start server "${stack[@]}" "$dtest" -P ia
    await_port server 15828
    start second "${stack[@]}" "$dtest" -P ia
    fails second 'Error (bind to TCP port 15828: Address already in use|dat_psp_create: DAT_CONN_QUAL_IN_USE)'
}

@test "dtest: options that differ are named, and both sides end" {
    start server "${stack[@]}" "$dtest" -P ia -b 100
    start client "${stack[@]}" "$dtest" -h 127.0.0.1 -b 200
    fails client "Error options: this client has -b 200 -B 1000: expected the server's -b 100 -B 1000"
    fails server 'Error dat_evd_wait: the client has gone'
}

@test "dtest: when the server is killed in the middle, the client says so and ends" {
    for options in '' -p -c -W; do
        echo "options: $options"
        # shellcheck disable=SC2086 # none or one
        start_pair $options -b 4096 -B 50000000
        await_line client CONNECTED
        sleep 0.3
        kill_child server
        fails client 'Error .*(DAT_DTO_ERR|DAT_CONNECTION_EVENT|dat_).*: expected .*; look at'
        wait "${process_of[server]}" || true
        unset 'process_of[server]'
    done
}

@test "dtest: when the client is killed in the middle, the server says so and ends" {
    for options in '' -p -c -W; do
        echo "options: $options"
        # shellcheck disable=SC2086 # none or one
        start_pair $options -b 4096 -B 50000000
        await_line server CONNECTED
        sleep 0.3
        kill_child client
        fails server 'Error .*(DAT_DTO_ERR|DAT_CONNECTION_EVENT|dat_).*: expected .*; look at'
        wait "${process_of[client]}" || true
        unset 'process_of[client]'
    done
}

# usage: passes_with_debian SERVER CLIENT OPTIONS... - one of them is Debian's dtest.
passes_with_debian() {
    local server=$1 client=$2
    shift 2
    start server "${stack[@]}" "$server" -s -P ia "$@"
    await_port server 15828
    run_to_end client "${stack[@]}" "$client" -P ia -h 127.0.0.1 "$@"
    await_end server
    for side in server client; do
        [[ $(last_line "$side") == *"DAPL Test Complete. PASSED" ]] || { echo "$side did not pass"; return 1; }
    done
    # Debian's server gives its address away before it listens there: our client is refused once,
    # reports that, and tries again.
    sed -i '/refuses the connection from .*\[DAT207\]$/d' "$BATS_TEST_TMPDIR/client.err"
    is_silent server client
}

@test "dtest works with Debian's dtest as its client" {
    need_program dtest
    for options in '-b 4096' '-b 10' '-b 4096 -p' '-b 4096 -c' '-b 4096 -w' '-b 4096 -w -u' '-b 4096 -u' '-W -B 100' '-D -b 3000 -B 100' '-W -a -b 64 -B 20'; do
        echo "options: $options"
        # shellcheck disable=SC2086 # a list of words
        passes_with_debian "$dtest" "$(command -v dtest)" $options
    done
}

@test "dtest works with Debian's dtest as its server" {
    need_program dtest
    for options in '-b 4096' '-b 10' '-b 4096 -p' '-b 4096 -c' '-b 4096 -w' '-b 4096 -w -u' '-b 4096 -u' '-W -B 100' '-D -b 3000 -B 100' '-W -a -b 64 -B 20'; do
        echo "options: $options"
        # shellcheck disable=SC2086 # a list of words
        passes_with_debian "$(command -v dtest)" "$dtest" $options
    done
}

@test "dtest works with Debian's dtest over libdaploucm, whose address is LID and QPN, as its client and as its server" {
    need_program dtest
    use_stack ours "$TOP_BUILDDIR/.libs/libdaploucm.so.2" 'soft0 1' preload
    passes_with_debian "$dtest" "$(command -v dtest)" -b 4096
    passes_with_debian "$(command -v dtest)" "$dtest" -b 4096
}

@test "the demo shows both processes, ends with one clear line and leaves nothing behind" {
    mkdir "$BATS_TEST_TMPDIR/work"
    run_to_end demo env "TMPDIR=$BATS_TEST_TMPDIR/work" sh "$TOP_SRCDIR/test/dtest/demo" "$TOP_BUILDDIR" -b 1000 -B 20
    has demo '^server \| [0-9]+ CONNECTED!'
    has demo '^client \| .*RDMA read '
    [[ $(head -n 1 "$BATS_TEST_TMPDIR/demo.out") == "demo: "*" takes "*" seconds"* ]]
    has demo '^demo: PASSED: '
    [[ $(tail -n 1 "$BATS_TEST_TMPDIR/demo.out") == "demo: try next: "* ]]
    is_silent demo
    [ -z "$(ls -A "$BATS_TEST_TMPDIR/work")" ]
}

@test "the demo fails when a side fails" {
    mkdir "$BATS_TEST_TMPDIR/work"
    start demo env "TMPDIR=$BATS_TEST_TMPDIR/work" sh "$TOP_SRCDIR/test/dtest/demo" "$TOP_BUILDDIR" -b 0
    status=0
    wait "${process_of[demo]}" || status=$?
    unset 'process_of[demo]'
    [ "$status" -eq 1 ]
    [[ $(tail -n 1 "$BATS_TEST_TMPDIR/demo.out") == "demo: FAILED: "* ]]
    [ -z "$(ls -A "$BATS_TEST_TMPDIR/work")" ]
}
