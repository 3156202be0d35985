#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests datagram endpoints: our libdaploscm and libdaploucm and the reference's in all pairings over
# one softverbs fabric, what scm sends over its sockets, and the reference's dtestx, which ends in the
# reference's own libraries by freeing its address handles twice.
load helpers
load interoperation

setup_file() {
    BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
    start_network
    local provider server client
    for provider in scm ucm; do
        for server in debian ours; do
            for client in debian ours; do
                converse "$provider" "$server" "$client"
            done
        done
    done
    stop_all
}
setup() {
    need_program dtestx python3
    need_library libdat2.so.2 libdaploscm.so.2 libdaploucm.so.2
}
teardown() { stop_all; }

# usage: converse PROVIDER SERVER CLIENT - SERVER and CLIENT are each ours or debian; what they print
# is left in $BATS_FILE_TMPDIR/PROVIDER-SERVER-CLIENT. Of scm the recorder keeps what goes between
# the ends; the datagrams of ucm go past it.
converse() {
    local peer=$TOP_BUILDDIR/test/compat/.libs/ud_peer ready=server_and_recorder_listen client_port=45400
    kept=$BATS_FILE_TMPDIR/$1-$2-$3
    record_file=$kept.record
    [ "$1" != ucm ] || ready=peer_listens client_port=45300
    choose_stack "$2" "$1" soft0
    server_stack=("${stack[@]}")
    choose_stack "$3" "$1" soft0
    client_stack=("${stack[@]}")
    run_both "$kept" "$lost_conversations|rcv ERR|0x40004" "$ready" "$peer" ia 45300 -- "$peer" ia "$client_port" 127.0.0.1
    stop_recorder
}

# usage: understand PROVIDER SERVER CLIENT [ANSWER REJECTION] - checks that both ends have printed what
# they must. ANSWER and REJECTION are what the client has of the server's private data.
understand() {
    local said=$BATS_FILE_TMPDIR/$1-$2-$3 answer=${4:-the server} rejection=${5:-not again}
    cat "$said"/{server,client}.err "$said/statuses"
    diff -u --label 'the server must say' --label 'the server says' - "$said/server.out" <<'LINES'
start: listening
request: event 0x40001, type 5, data 'a client'
outcome: event 0x40002, type 7, data 'a client'
received: event 0x40000, operation 14, type 9, status 0, 55 bytes: from the client
sent: event 0x40000, operation 13, type 8, status 0, 15 bytes
request: event 0x40001, type 5, data 'a client'
end
LINES
    diff -u --label 'the client must say' --label 'the client says' - "$said/client.out" <<LINES
outcome: event 0x40002, type 6, data '$answer'
sent: event 0x40000, operation 13, type 8, status 0, 15 bytes
received: event 0x40000, operation 14, type 9, status 0, 55 bytes: from the server
outcome: event 0x40003, type -1, data '$rejection'
end
LINES
}

@test "datagram endpoints: the reference's server, the reference's client" { understand scm debian debian; }
@test "datagram endpoints: the reference's server, our client" { understand scm debian ours; }
@test "datagram endpoints: our server, the reference's client" { understand scm ours debian; }
@test "datagram endpoints: our server, our client" { understand scm ours ours; }

# The reference's libdaploucm reports as many bytes of an answer as its own request had.
@test "datagram endpoints over ucm: the reference's server, the reference's client" { understand ucm debian debian 'the serv' 'not agai'; }
@test "datagram endpoints over ucm: the reference's server, our client" { understand ucm debian ours; }
@test "datagram endpoints over ucm: our server, the reference's client" { understand ucm ours debian 'the serv' 'not agai'; }
@test "datagram endpoints over ucm: our server, our client" { understand ucm ours ours; }

# usage: said OWNER - prints the messages of both sockets.
said() { "$TOP_SRCDIR/test/compat/recorded" "$BATS_FILE_TMPDIR/scm-$1-$1.record"; }

@test "datagram endpoints over the wire: request, answer, third message, rejection, byte for byte as the reference's" {
    diff -u --label reference --label ours <(said debian) <(said ours)
    [ "$(said ours | cut -d ' ' -f 1-3 | xargs)" = '1 > 156 1 < 158 1 > 4 2 > 156 2 < 157' ]
    # Byte 63 is the type of the queue pair: what verbs calls UD.
    [ "$(sed -n '1s/^[0-9]* > //p' "$BATS_FILE_TMPDIR/scm-ours-ours.record" | cut -c 127-128)" = 04 ]
}

# usage: dtestx_datagrams OPTIONS... - runs the reference's dtestx between two ends of the chosen
# stack. Its server gives up when a message is lost. Its client asks as soon as the server has sent
# its addresses, but the server begins to listen after that: the client gives up if it comes before
# the server's socket, and waits for ever if it comes before the service point.
dtestx_datagrams() {
    local program side
    program=$(command -v dtestx)
    server_stack=("${stack[@]}")
    client_stack=("${stack[@]}")
    run_both "$BATS_TEST_TMPDIR/said" "$lost_races|for receive message returned DAT_TIMEOUT_EXPIRED|Failed to connect|refuses the connection" dtest_listens \
        "$program" -s -P ia "$@" -- "$program" -c -P ia -h "$server_address" "$@"
    cat "$BATS_TEST_TMPDIR"/said/{statuses,server.out,server.err,client.out,client.err}
    for side in server client; do
        grep 'IB extension test - UD test PASSED' "$BATS_TEST_TMPDIR/said/$side.out"
    done
}

@test "the reference's dtestx passes on our libdaplsoft with datagram endpoints (-u)" {
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
    server_address=127.0.0.1
    dtestx_datagrams -u
}
@test "the reference's dtestx passes on our libdaploscm over softverbs with datagram endpoints (-u)" {
    start_network
    choose_stack ours scm soft0
    dtestx_datagrams -u
}
@test "the reference's dtestx passes on our libdaploscm over softverbs with datagram endpoints at both ends (-u -m)" {
    start_network
    choose_stack ours scm soft0
    dtestx_datagrams -u -m
}
@test "the reference's dtestx passes on our libdaploucm over softverbs with datagram endpoints (-u)" {
    start_network
    choose_stack ours ucm soft0
    dtestx_datagrams -u
}
@test "the reference's dtestx passes on our libdaploucm over softverbs with datagram endpoints at both ends (-u -m)" {
    start_network
    choose_stack ours ucm soft0
    dtestx_datagrams -u -m
}
