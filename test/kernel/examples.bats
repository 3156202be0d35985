#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs the programs of doc/examples on the kernel's devices, where messages take their time and
# completions come late.
# shellcheck disable=SC2154 # stack, port and server_address come from the helpers
load helpers
load ../tools/examples.bash

teardown() { stop_all; }

# usage: plays PROVIDER DEVICE
plays() {
    use_device ours "$1" "$2"
    for bytes in 1 4096; do
        serve ping_pong server 4711
        ends client ping_pong client "$server_address" "$port" 200 "$bytes"
        await_end server
        is_silent server
    done
}

@test "cma on rxe0: ping_pong" { plays cma rxe0; }
@test "cma on siw0: ping_pong" { plays cma siw0; }
@test "scm on rxe0: ping_pong" { plays scm rxe0; }

# usage: serves_three PROVIDER DEVICE SERVER ARGS...
serves_three() {
    use_device ours "$1" "$2"
    shift 2
    serve "$@"
    for client in 1 2 3; do start_example "client$client" ping_pong client "$server_address" "$port" 100 $((client * 1000)); done
    for client in 1 2 3; do await_end "client$client"; done
    is_silent client1 client2 client3
}

@test "cma on rxe0: event_loop serves three clients beside each other" {
    serves_three cma rxe0 event_loop 4711
    stop_server
}

@test "scm on rxe0: event_loop serves three clients beside each other" {
    serves_three scm rxe0 event_loop 4711
    stop_server
}

@test "cma on siw0: srq_server serves three clients beside each other" {
    serves_three cma siw0 srq_server 4711 3
    await_end server
    has server '^300 messages through 64 receives$'
}

@test "cma on rxe0: write_immediate, a file of a million bytes" {
    use_device ours cma rxe0
    head -c 1000000 /dev/urandom >"$BATS_TEST_TMPDIR/file"
    serve write_immediate server 4711 "$BATS_TEST_TMPDIR/copy"
    ends client write_immediate client "$server_address" "$port" "$BATS_TEST_TMPDIR/file"
    await_end server
    is_silent server
    cmp "$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/copy"
}

@test "cma on rxe0: prefork_server's workers serve in turn" {
    use_device ours cma rxe0
    serve prefork_server 4711 2
    for turn in 1 2; do
        ends "client$turn" prefork_server client "$server_address" "$port"
        has "client$turn" '^served by process [0-9]+$'
    done
    [ "$(output_of client1)" != "$(output_of client2)" ]
    stop_server
}

@test "cma on rxe0: the same work in verbs and in DAT, each client at the other's server" {
    use_device ours cma rxe0
    serve dat_add server 4711
    run_to_end client "$examples/verbs_add" client "$server_address" "$port" 18446744073709551615 1
    [ "$(output_of client)" = '18446744073709551615 + 1 = 0' ]
    await_end server
    start server "$examples/verbs_add" server 7471
    await_line server '^listening on port 7471$'
    ends client dat_add client "$server_address" 7471 4294967295 1
    [ "$(output_of client)" = '4294967295 + 1 = 4294967296' ]
    await_end server
}

# usage: delays PROVIDER DEVICE VALUE - the client reports VALUE for its delayed_ack.
delays() {
    use_device ours "$1" "$2"
    serve delayed_ack server 4711
    ends client delayed_ack client "$server_address" "$port" 'hello, memory'
    has client "^delayed_ack is $3$"
    await_end server
    is_silent server
    has server '^hello, memory$'
}

@test "cma on rxe0: delayed_ack" { delays cma rxe0 true; }
@test "cma on siw0: delayed_ack is not supported, and the client writes without it" { delays cma siw0 false; }

# usage: upgrades PROVIDER DEVICE HOW - the clients that want RDMA are answered in this way.
upgrades() {
    use_device ours "$1" "$2"
    serve socket_upgrade server 0 3
    for how in tcp:TCP "rdma:$3" "rdma:$3"; do
        ends client socket_upgrade client "$server_address" "$port" "${how%:*}" "hello by ${how#*:}"
        has client "^by ${how#*:}: hello by ${how#*:}$"
    done
    await_end server
    is_silent server
}

@test "cma on rxe0: socket_upgrade" { upgrades cma rxe0 RDMA; }
@test "scm on rxe0: socket_upgrade" { upgrades scm rxe0 RDMA; }
@test "cma on siw0: socket_upgrade, where all stay with TCP" { upgrades cma siw0 TCP; }
