#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests dtest_ext between two processes: over soft0, over softverbs with our providers and Debian's,
# and what it does when something is wrong.
load ../compat/helpers

setup() {
    start_network
    export DAPL_SCM_NETDEV=lo
    dtest_ext=$TOP_BUILDDIR/.libs/dtest_ext
    use_stack ours "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" 'soft0 0'
}
teardown() { stop_all; }

connected_checks=('named attributes' 'query without an open' 'collective operations' 'write with immediate data'
    'receives that meet sends and writes' 'compare and swap' 'fetch and add' 'atomic operations at once' 'privilege of atomic operations')
additional_checks=('trace levels' 'send with immediate data' 'atomic operations that are refused' 'write with immediate data and an SRQ'
    'send with immediate data and an SRQ' 'transfers of the proposal of 2005' 'atomic operations of the proposal' 'confirmed writes'
    'delayed acknowledgement')
counter_checks=('counters of an endpoint' 'counters of immediate data and atomics' 'counters of an IA and an EVD' 'groups of counters')
datagram_checks=('datagrams' 'datagram request that is rejected')
additional_datagram_checks=('datagrams that are refused')

# usage: start_pair OPTIONS... - starts server and client; the client waits for the server by
# itself.
start_pair() {
    start server "${stack[@]}" "$dtest_ext" -s -P ia "$@"
    start client "${stack[@]}" "$dtest_ext" -h 127.0.0.1 "$@"
}

last_line() {
    grep . "$BATS_TEST_TMPDIR/$1.out" | tail -n 1
}

# usage: passes OPTIONS... - both sides must end with status 0 and report it.
passes() {
    start_pair "$@"
    await_end client
    await_end server
    both_say_passed
}

both_say_passed() {
    local side
    for side in server client; do
        [[ $(last_line "$side") =~ ^\ IB\ extension\ test\ -\ (immed/atomic|UD)\ test\ PASSED$ ]] ||
            { echo "the $side's last line does not say PASSED"; return 1; }
    done
    fabric_is_clean
}

# On a busy machine, the reference's socket manager hands on datagram requests and answers whose
# private data has not arrived yet, and may never report to an end that it is connected.
lost_by_debian='private data of [0-9]+ bytes, not as sent|event 0x40004|rcv ERR|Error with CONNECT REQUEST|expected a connection event within'

# usage: died_in PROVIDER - whether a process died by a fault in this library, as its core file
# shows, where there is one: the thread that died stands first. The reference's datagram manager may
# use a request that another of its threads has freed.
died_in() {
    local core
    for core in core*; do
        [ -f "$core" ] || continue
        eu-stack --core "$core" -m -n 1 2>/dev/null | sed -n 's/^#0 .* - //p' | head -n 1 | grep -qxF "${1##*/}" && return 0
    done
    return 1
}

# usage: passes_on_debian PROVIDER OPTIONS... - as passes, but starts again where Debian's libraries
# lost a race of their own.
passes_on_debian() {
    local attempt provider=$1
    shift
    cd "$BATS_TEST_TMPDIR"
    ulimit -c unlimited 2>/dev/null || true
    for attempt in {1..8}; do
        rm -f core*
        start_pair "$@"
        wait "${process_of[client]}" || true
        wait "${process_of[server]}" || true
        unset 'process_of[client]' 'process_of[server]'
        grep -qE "$lost_by_debian" "$BATS_TEST_TMPDIR"/{server,client}.err || died_in "$provider" || break
    done
    echo "attempt $attempt"
    both_say_passed
}

# usage: says_nothing_else - standard error may only have the warning about the connection that the
# check of privileges breaks.
says_nothing_else() {
    sed -i '/access.*\[DAT290\]$/d' "$BATS_TEST_TMPDIR"/{server,client}.err
    is_silent server client
}

# usage: proved passed|'not available' CHECK... - both sides must report this outcome for each
# check.
proved() {
    local outcome=$1 check side
    shift
    for check in "$@"; do
        for side in server client; do
            has "$side" "^$check: $outcome: .{10}"
        done
    done
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
        grep -qE "^dtest_ext: error: $pattern" "$BATS_TEST_TMPDIR/$name.err" || { echo "$name did not tell '$pattern'"; return 1; }
    done
}

@test "dtest_ext over soft0: every check passes on both sides, none is left out" {
    passes
    proved passed "${connected_checks[@]}" "${additional_checks[@]}" "${counter_checks[@]}"
    proved passed "${datagram_checks[@]}" "${additional_datagram_checks[@]}"
    has client '^[0-9]+ checks passed, 0 not available$'
    says_nothing_else
}

@test "dtest_ext prints the lines that scripts written for dtestx look for" {
    passes
    for side in server client; do
        for name in RDMA_WRITE_WITH_IMMEDIATE_DATA CMP_SWAP FETCH_ADD; do
            has "$side" "^ $name test - PASSED\$"
        done
        has "$side" '^ IB extension test - immed/atomic test PASSED$'
    done
    passes -u
    has client '^ IB extension test - UD test PASSED$'
}

@test "dtest_ext over soft0: transfers from 8 bytes to 1 MiB, and other numbers" {
    for size in 8 63 4097 1048576; do
        echo "size $size"
        passes -b "$size" --seed "$size"
        has server "^write with immediate data: passed: 1 and $size bytes"
    done
    says_nothing_else
}

@test "dtest_ext over soft0: datagram endpoints alone (-u), more of them (-U), each with its own at the server (-m)" {
    passes -u
    proved passed "${datagram_checks[@]}" "${additional_datagram_checks[@]}"
    has client '^datagrams: passed: 4 endpoints of the client and 1 of the server'
    passes -U 9
    has server '^datagrams: passed: 9 endpoints of the client and 1 of the server'
    passes -m -U 3
    has server '^datagrams: passed: 3 endpoints of the client and 3 of the server'
    is_silent server client
}

@test "dtest_ext over soft0: all checks again and again (--rounds)" {
    passes --rounds 3
    [ "$(grep -c '^fetch and add: passed' "$BATS_TEST_TMPDIR/client.out")" -eq 3 ]
}

@test "dtest_ext over soft0: a trace of transfers names the posts of every extension, with cookie, bytes and code" {
    stack+=(DAPL_TRACE_LEVEL=10 "OPENDAT_LOG_FILE=$BATS_TEST_TMPDIR/%p.log")
    passes
    local call
    for call in ib_post_fetch_and_add ib_post_cmp_and_swap ib_post_rdma_write_immed ib_post_send_immed ib_post_send_ud ep_post_recv_immed; do
        grep -qhE " dat_$call cookie 0x[0-9a-f]+, [1-9] segments, first [1-9][0-9]* bytes, flags 0x[0-9a-f]+ = 0x0$" "$BATS_TEST_TMPDIR"/*.log || {
            echo "no post by dat_$call"
            return 1
        }
    done
}

@test "dtest_ext -p prints the counters at the end" {
    passes -p -u
    has client '^DCNT_IA_EP_CREATE +[1-9]'
    has server '^DCNT_IA_CM_AH_REQ_RX +[1-9]'
}

@test "dtest_ext over libdaploscm on softverbs: every check passes, datagrams too" {
    use_stack ours "$TOP_BUILDDIR/.libs/libdaploscm.so.2" 'soft0 1' preload
    passes
    proved passed "${connected_checks[@]}" "${additional_checks[@]}" "${counter_checks[@]}"
    proved passed "${datagram_checks[@]}" "${additional_datagram_checks[@]}"
    has client '^[0-9]+ checks passed, 0 not available$'
    says_nothing_else
    passes -m -U 5
    is_silent server client
}

@test "dtest_ext over libdaploucm on softverbs: every check passes, datagrams too" {
    use_stack ours "$TOP_BUILDDIR/.libs/libdaploucm.so.2" 'soft0 1' preload
    passes
    proved passed "${connected_checks[@]}" "${additional_checks[@]}" "${counter_checks[@]}"
    proved passed "${datagram_checks[@]}" "${additional_datagram_checks[@]}"
    has client '^[0-9]+ checks passed, 0 not available$'
    says_nothing_else
    passes -m -U 5
    is_silent server client
}

@test "dtest_ext over libdaplofa on softverbs: every check passes, datagrams too" {
    use_stack ours "$TOP_BUILDDIR/.libs/libdaplofa.so.2" 'lo 0' preload
    passes
    proved passed "${connected_checks[@]}" "${additional_checks[@]}" "${counter_checks[@]}"
    proved passed "${datagram_checks[@]}" "${additional_datagram_checks[@]}"
    says_nothing_else
}

@test "dtest_ext on Debian's libdat2 and libdaplofa: what they have passes, what they lack is not available" {
    need_library libdat2.so.2 libdaplofa.so.2
    use_stack debian "$(installed libdaplofa.so.2)" 'lo 0' preload
    passes_on_debian libdaplofa.so.2
    proved passed "${connected_checks[@]}"
    proved 'not available' "${additional_checks[@]}" "${counter_checks[@]}" "${datagram_checks[@]}"
    start_pair -u
    fails client 'datagrams: no datagram endpoints: expected the attribute DAT_IB_UD to be TRUE; choose another provider'
    fails server 'datagrams: no datagram endpoints'
}

@test "dtest_ext on Debian's libdat2 and libdaploscm: what they have passes, datagrams too" {
    need_library libdat2.so.2 libdaploscm.so.2
    use_stack debian "$(installed libdaploscm.so.2)" 'soft0 1' preload
    passes_on_debian libdaploscm.so.2
    proved passed "${connected_checks[@]}" "${datagram_checks[@]}"
    proved 'not available' "${additional_checks[@]}" "${counter_checks[@]}" "${additional_datagram_checks[@]}"
}

@test "dtest_ext on Debian's libdat2 and libdaploucm: datagrams (-u)" {
    need_library libdat2.so.2 libdaploucm.so.2
    use_stack debian "$(installed libdaploucm.so.2)" 'soft0 1' preload
    passes_on_debian libdaploucm.so.2 -u
    proved passed "${datagram_checks[@]}"
    proved 'not available' "${additional_datagram_checks[@]}"
}

@test "dtest_ext on Debian's libdat2 with our libdaplsoft: all but the names of the proposal" {
    need_library libdat2.so.2
    use_stack debian "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" 'soft0 0'
    passes
    proved passed "${connected_checks[@]}" 'send with immediate data' 'atomic operations that are refused' "${datagram_checks[@]}"
    proved 'not available' 'transfers of the proposal of 2005' 'atomic operations of the proposal' 'confirmed writes'
}

@test "dtest_ext -q prints the provider's attributes and ends" {
    run_to_end query "${stack[@]}" "$dtest_ext" -q -P ia
    is_silent query
    for attribute in DAT_IB_IMMED_DATA=TRUE DAT_IB_FETCH_AND_ADD=TRUE DAT_IB_CMP_AND_SWAP=TRUE DAT_IB_UD=TRUE \
        DAT_EXT_RDMA_WRITE_IMMED=TRUE delayed_ack_supported=true; do
        has query "Attribute\[[0-9]+\] $attribute\$"
    done
}

# A number that the other side does not expect, or a changed event, makes a check fail.
@test "dtest_ext fails on both sides when they expect other numbers (--seed)" {
    start server "${stack[@]}" "$dtest_ext" -P ia --seed 1
    start client "${stack[@]}" "$dtest_ext" -h 127.0.0.1 --seed 2
    fails client 'write with immediate data: immediate data: 0x[0-9a-f]+: expected 0x[0-9a-f]+; give both sides the same --seed'
    fails server 'write with immediate data: '
}

@test "dtest_ext notices each thing that an event may have wrong" {
    local what pattern
    while read -r what pattern; do
        echo "changed: $what"
        start server "${stack[@]}" "$dtest_ext" -P ia
        start client "${stack[@]}" env "LD_PRELOAD=$TOP_BUILDDIR/test/dtest_ext/.libs/changed_events.so" CHANGED_EVENTS="$what" \
            "$dtest_ext" -h 127.0.0.1
        fails client "write with immediate data: $pattern"
        fails server
    done <<'LIST'
number immediate data: 0x[0-9a-f]+: expected 0x
type completion of .*: DAT_IB_DTO_EVENT, operation 0x8, type 0x3, .*: expected DAT_IB_DTO_EVENT, operation 0x8, type 0x2
operation completion of .*, operation 0x9, .*: expected .*, operation 0x8
length completion of .*, 2 bytes, .*: expected .*, 1 bytes
cookie completion of .*, cookie 1: expected .*, cookie 0
status completion of .*, DAT_DTO_ERR_TRANSPORT, .*: expected .*, DAT_DTO_SUCCESS
endpoint completion of .*: an event of another endpoint: expected one of its own endpoint
event completion of .*: DAT_DTO_COMPLETION_EVENT, .*: expected DAT_IB_DTO_EVENT
LIST
}

@test "dtest_ext: a client without a server gives up at its deadline" {
    start client "${stack[@]}" "$dtest_ext" -h 127.0.0.1 --timeout 1
    fails client 'connect to 127\.0\.0\.1 TCP port 15828: Connection refused: expected a dtest_ext server within 1 seconds; start dtest_ext without -h there first'
}

@test "dtest_ext: an unknown provider is told by the call, the code and the next step" {
    start server "${stack[@]}" "$dtest_ext" -P nosuch
    fails server 'dat_ia_open nosuch: DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED \(0x800a0064\): expected DAT_SUCCESS; see the preceding message'
}

@test "dtest_ext: options that differ are named" {
    start server "${stack[@]}" "$dtest_ext" -P ia -b 100
    start client "${stack[@]}" "$dtest_ext" -h 127.0.0.1 -b 200 -u
    fails client "options: this client has dtest_ext -b 200 -u, 4 datagram endpoints, --rounds 1: expected the server's dtest_ext -b 100, 4"
    fails server 'named attributes: |receive of what the other side says'
}

@test "dtest_ext: a dtest at the other side is told from a dtest_ext" {
    start server "${stack[@]}" "$TOP_BUILDDIR/.libs/dtest" -P ia
    start client "${stack[@]}" "$dtest_ext" -h 127.0.0.1
    fails client "server's record: that of another program: expected that of a dtest_ext; start dtest_ext on both sides"
}

# usage: survives_the_other KILLED LEFT - kills one side in the middle; the other must report that
# and end.
survives_the_other() {
    start_pair --rounds 1000000
    await_line "$2" 'delayed acknowledgement: passed'
    kill -KILL "$(pgrep -P "${process_of[$1]}")"
    fails "$2" '[a-z].*: expected .*; [a-z]'
    wait "${process_of[$1]}" || true
    unset "process_of[$1]"
}

@test "dtest_ext: when the server is killed in the middle, the client says so and ends" { survives_the_other server client; }
@test "dtest_ext: when the client is killed in the middle, the server says so and ends" { survives_the_other client server; }

@test "dtest_ext: wrong usage ends with status 244, and --version names the release" {
    for options in --nosuch '-b 7' '-U 0' '-b x' 'word'; do
        # shellcheck disable=SC2086 # words
        run "${stack[@]}" "$dtest_ext" $options
        [ "$status" -eq 244 ]
        [[ $output == *dtest_ext* ]]
    done
    run "${stack[@]}" "$dtest_ext" --version
    [ "$status" -eq 0 ]
    [ "$output" = "dtest_ext $(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$TOP_BUILDDIR/config.h")" ]
}
