#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs the programs of doc/examples, each as its head says, between real processes over soft0.
load ../compat/helpers
load examples.bash

setup() {
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
}
teardown() { stop_all; }

@test "ping_pong: a thousand messages go there and come back as they were, short and long" {
    for bytes in 1 64 4096; do
        serve ping_pong server 0
        ends client ping_pong client "$server_address" "$port" 1000 "$bytes"
        has client "^1000 round trips of $bytes bytes, [0-9.]+ us each$"
        await_end server
        is_silent server
    done
    fabric_is_clean
}

@test "write_immediate: a file is the same after its way through immediate data, whatever its length" {
    for bytes in 0 1 16383 16384 16385 1000000; do
        head -c "$bytes" /dev/urandom >"$BATS_TEST_TMPDIR/file"
        serve write_immediate server 0 "$BATS_TEST_TMPDIR/copy"
        ends client write_immediate client "$server_address" "$port" "$BATS_TEST_TMPDIR/file"
        has client "^$((bytes / 16384 + 1)) blocks$"
        await_end server
        is_silent server
        cmp "$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/copy"
    done
    fabric_is_clean
}

@test "event_loop: one thread serves clients one after the other and beside each other, until SIGTERM" {
    serve event_loop 0
    ends first ping_pong client "$server_address" "$port" 10
    for client in 1 2 3 4; do start_example "client$client" ping_pong client "$server_address" "$port" 300; done
    for client in 1 2 3 4; do await_end "client$client"; done
    is_silent client1 client2 client3 client4
    stop_server
    fabric_is_clean
}

@test "event_loop: a client that is killed in the middle takes nobody along" {
    serve event_loop 0
    start_example victim ping_pong client "$server_address" "$port" 100000000
    ends client ping_pong client "$server_address" "$port" 100
    pkill -KILL -P "${process_of[victim]}"
    ends client ping_pong client "$server_address" "$port" 100
    pkill -TERM -P "${process_of[server]}"
    await_end server
    # A request that was in progress fails, which is reported with its cause; the signal is known
    # once the victim's parent has waited.
    never grep -vE "the peer's process ended \(pid [0-9]+(, signal 9: Killed)?\).* \[DAT290\]$" "$BATS_TEST_TMPDIR/server.err"
}

@test "socket_upgrade: one server answers over TCP and, where the client wants, by RDMA" {
    serve socket_upgrade server 0 4
    for how in tcp:TCP rdma:RDMA rdma:RDMA tcp:TCP; do
        ends client socket_upgrade client "$server_address" "$port" "${how%:*}" "hello by ${how#*:}"
        has client "^by ${how#*:}: hello by ${how#*:}$"
    done
    await_end server
    is_silent server
    fabric_is_clean
}

@test "srq_server: four clients share one pool of receives, and each gets its own answers" {
    serve srq_server 0 4
    for client in 1 2 3 4; do start_example "client$client" ping_pong client "$server_address" "$port" 500 $((client * 100)); done
    for client in 1 2 3 4; do await_end "client$client"; done
    is_silent client1 client2 client3 client4
    await_end server
    is_silent server
    has server '^2000 messages through 64 receives$'
    fabric_is_clean
}

# usage: ask - prints the process id of the worker that serves us.
ask() {
    ends client prefork_server client "$server_address" "$port"
    sed -n 's/^served by process //p' "$BATS_TEST_TMPDIR/client.out"
}

@test "prefork_server: its workers serve in turn, and one that is killed is replaced" {
    serve prefork_server 0 2
    first=$(ask)
    second=$(ask)
    third=$(ask)
    [ -n "$first" ] && [ "$first" != "$second" ] && [ "$first" = "$third" ]
    kill -KILL "$second"
    eventually replaced
    stop_server
    fabric_gets_clean
}
# A client fails if it is the turn of a worker that is dead and not yet replaced.
replaced() {
    start_example client prefork_server client "$server_address" "$port"
    wait "${process_of[client]}" || return
    local server
    server=$(sed -n 's/^served by process //p' "$BATS_TEST_TMPDIR/client.out")
    [ -n "$server" ] && [ "$server" != "$first" ] && [ "$server" != "$second" ]
}

@test "registration_bracket: a file is the same after its way through brackets, of windows and of registrations" {
    head -c 200000 /dev/urandom >"$BATS_TEST_TMPDIR/file"
    for way in windows registrations; do
        serve registration_bracket server 0 "$BATS_TEST_TMPDIR/file"
        OPENDAT_REGISTRATIONS=on OPENDAT_REGISTRATION_BRACKETS=$way \
            ends client registration_bracket client "$server_address" "$port" "$BATS_TEST_TMPDIR/copy"
        has client '^4 calls$'
        await_end server
        is_silent server
        cmp "$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/copy"
    done
}

@test "registration_bracket: the client says what it needs" {
    serve registration_bracket server 0 /dev/null
    start_example client registration_bracket client "$server_address" "$port" "$BATS_TEST_TMPDIR/copy"
    never wait "${process_of[client]}"
    grep -q 'set OPENDAT_REGISTRATIONS=on' "$BATS_TEST_TMPDIR/client.err"
}

@test "registration_upcalls: a cache that fills the table gives up what others need, the least served first" {
    export OPENDAT_REGISTRATIONS=on OPENDAT_REGISTRATION_ENTRIES=16 OPENDAT_REGISTRATION_GRACE=20000
    mkfifo "$BATS_TEST_TMPDIR/input"
    start cache "${stack[@]}" sh -c "exec '$(example registration_upcalls)' ia cache <'$BATS_TEST_TMPDIR/input'"
    exec 7>"$BATS_TEST_TMPDIR/input"
    await_line cache '^1?[0-9] registered$'
    ends borrower registration_upcalls borrow 4
    has borrower '^got 4$'
    has cache '^(offered|let go) the one that has served 0 times$'
    exec 7>&-
    await_end cache
    is_silent cache
}

# usage: start_failover - starts `server` and `client`, of a program with this name, and waits until they are connected.
start_failover() {
    local name side
    for name in soft0 soft1; do
        printf '%s u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "%s 0" ""\n' "$name" "$name"
    done >"$BATS_TEST_TMPDIR/dat.conf"
    for side in server client; do ln -s "$(example failover)" "$BATS_TEST_TMPDIR/failover_$side"; done
    export SOFTVERBS_DEVICES=2
    start server "${stack[@]}" "$BATS_TEST_TMPDIR/failover_server" server soft0 soft1 4700
    eventually_alive server counts server 'listening on port 4700' 2
    start client "${stack[@]}" "$BATS_TEST_TMPDIR/failover_client" client soft0 127.0.0.1 soft1 127.0.0.2 4700
    for name in soft0 soft1; do await_line client "^$name: 32 endpoints are connected$"; done
}

@test "failover: an adapter whose device has failed is left, and the other one goes on" {
    start_failover
    "$TOP_BUILDDIR/softverbs" fault add 'device soft0 program=failover_client -> fatal'
    await_line client '^soft0: the device has failed$'
    await_line client '^soft0: these requests have their answers$'
    pkill -TERM -P "${process_of[client]}"
    await_end client
    never grep -q '^soft1: the' "$BATS_TEST_TMPDIR/client.out"
    grep -q 'RDMA device soft0 .* has been removed.*DAT209' "$BATS_TEST_TMPDIR/client.err"
}

# usage: counts PROCESS LINE COUNT
counts() { [ "$(grep -cx "$2" "$BATS_TEST_TMPDIR/$1.out")" -eq "$3" ]; }

# usage: end_failover - ends both, and checks that each request had its answer and that soft1 was not concerned.
end_failover() {
    local side
    for side in client server; do
        pkill -TERM -P "${process_of[$side]}"
        await_end "$side"
        has "$side" '^soft0: [1-9][0-9]* answers$'
        has "$side" '^soft1: [1-9][0-9]* answers$'
        never grep -q '^soft1: the' "$BATS_TEST_TMPDIR/$side.out"
        counts "$side" 'soft1: 32 endpoints are connected' 1
        never grep -vE '\[DAT(205|208|290|291|316)\]$' "$BATS_TEST_TMPDIR/$side.err"
    done
    fabric_is_clean
}

@test "failover: when a port goes down its requests go over the other one, and its endpoints connect when it is back" {
    start_failover
    "$TOP_BUILDDIR/softverbs" port soft0 down
    await_line client '^soft0: the link is down$'
    await_line client '^soft0: 32 requests go over the other adapter$'
    await_line client '^soft0: these requests have their answers$'
    await_line server '^soft0: the link is down$'
    counts client 'soft0: 32 endpoints are connected' 1
    "$TOP_BUILDDIR/softverbs" port soft0 up
    eventually_alive client counts client 'soft0: 32 endpoints are connected' 2
    eventually_alive server counts server 'soft0: 32 endpoints are connected' 2
    end_failover
}

# The server's port stays up, so the server does not notice that connections have ended.
@test "failover: a rule takes the link of the client's port away, twice" {
    start_failover
    "$TOP_BUILDDIR/softverbs" fault add 'port soft0 program=failover_client -> down for 200ms'
    eventually_alive client counts client 'soft0: 32 endpoints are connected' 2
    "$TOP_BUILDDIR/softverbs" fault add 'port soft0 program=failover_client -> down for 300ms'
    eventually_alive client counts client 'soft0: 32 endpoints are connected' 3
    counts client 'soft0: the link is down' 2
    counts client 'soft0: 32 requests go over the other adapter' 2
    counts client 'soft0: these requests have their answers' 2
    never grep -q '^soft0: the link' "$BATS_TEST_TMPDIR/server.out"
    end_failover
}

@test "trace_level: the levels are read and changed through the attributes of the adapter" {
    ends levels trace_level
    [ "$(output_of levels)" = 'DAT level 3, DAPL level 3' ]
    ends levels trace_level -1 4
    [ "$(output_of levels)" = "$(printf 'DAT level 3, DAPL level 3\nDAT level 3, DAPL level 4')" ]
    ends levels trace_level 1 0
    has levels '^DAT level 1, DAPL level 0$'
    export DAT_TRACE_LEVEL=2 DAPL_TRACE_LEVEL=1
    ends levels trace_level
    has levels '^DAT level 2, DAPL level 1$'
    status=0
    "${stack[@]}" "$(example trace_level)" ia 3 11 >/dev/null 2>"$BATS_TEST_TMPDIR/failure" || status=$?
    [ "$status" -eq 1 ]
    grep -q "^'11' is not a level" "$BATS_TEST_TMPDIR/failure"
}

@test "delayed_ack: a completed write is in the server's memory" {
    serve delayed_ack server 0
    ends client delayed_ack client "$server_address" "$port" 'hello, memory'
    has client '^delayed_ack is true$'
    has client '^written$'
    await_end server
    is_silent server
    has server '^hello, memory$'
    fabric_is_clean
}

@test "the same work in verbs and in DAT: both add, and each client finds the other's server" {
    verbs=(env "LD_PRELOAD=$softverbs" "$examples/verbs_add")
    serve dat_add server 0
    ends client dat_add client "$server_address" "$port" 2 3
    [ "$(output_of client)" = '2 + 3 = 5' ]
    await_end server
    is_silent server

    serve dat_add server 0
    run_to_end client "${verbs[@]}" client "$server_address" "$port" 18446744073709551615 1
    [ "$(output_of client)" = '18446744073709551615 + 1 = 0' ]
    await_end server
    is_silent client server

    start server "${verbs[@]}" server 7471
    await_line server '^listening on port 7471$'
    ends client dat_add client "$server_address" 7471 4294967295 1
    [ "$(output_of client)" = '4294967295 + 1 = 4294967296' ]
    await_end server
    fabric_is_clean
}

@test "each example says how it is used, and tells a failed call with its codes" {
    count=0
    for source in "$TOP_SRCDIR"/doc/examples/*.c; do
        name=$(basename "$source" .c)
        status=0
        "${stack[@]}" "$(example "$name")" 2>"$BATS_TEST_TMPDIR/usage" || status=$?
        [ "$status" -eq 2 ] || { echo "$name without arguments: status $status"; false; }
        grep -q "^usage: $name " "$BATS_TEST_TMPDIR/usage" || { echo "$name"; false; }
        count=$((count + 1))
    done
    [ "$count" -ge 10 ]
    status=0
    "${stack[@]}" "$(example ping_pong)" other server 0 2>"$BATS_TEST_TMPDIR/failure" || status=$?
    [ "$status" -eq 1 ]
    grep -q '^dat_ia_open.*: DAT_PROVIDER_NOT_FOUND' "$BATS_TEST_TMPDIR/failure"
}

# The installed dat2.pc has what `pkg-config --cflags --libs dat2` prints; test/compat/install.bats
# checks that.
@test "each example is one file and example.h, and compiles without a warning" {
    for source in "$TOP_SRCDIR"/doc/examples/*.c; do
        libraries=-ldat2
        [ "$(basename "$source")" != verbs_add.c ] || libraries='-lrdmacm -libverbs'
        # shellcheck disable=SC2086 # a list of words
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -I"$TOP_SRCDIR/dat/include" -L"$TOP_BUILDDIR/.libs" "$source" $libraries \
            -o "$BATS_TEST_TMPDIR/example"
    done
}
