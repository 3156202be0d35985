#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests containers as the kernel makes them: user, process, mount and network name spaces. Those
# that share a fabric directory can reach each other through it; the others are kept apart.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() {
    fabric=$BATS_TEST_TMPDIR/fabric
    mkdir -m 700 "$fabric"
    export SOFTVERBS_FABRIC=$fabric
    enter_network=()
    network_process=
    find_containers
    need_program perl ibv_rc_pingpong
}
teardown() { stop_all; }

# ibv_rc_pingpong exchanges queue pair numbers over TCP, but the containers share no network: a
# relay in each passes the numbers on through two named pipes.
# usage: relay PORT IN OUT listen|connect - runs in a container.
write_relay() {
    mkfifo "$BATS_TEST_TMPDIR/there" "$BATS_TEST_TMPDIR/back"
    cat >"$BATS_TEST_TMPDIR/relay.pl" <<'PERL'
use strict;
use IO::Socket::INET;
use IO::Select;
use IO::Handle;
my ($port, $in, $out, $role) = @ARGV;
my $socket;
if ($role eq "listen") {
    my $listener = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => $port, ReuseAddr => 1) or die "listen: $!";
    open my $ready, ">", "$out.ready" or die; close $ready;
    $socket = $listener->accept or die "accept: $!";
} else {
    until ($socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port)) { select undef, undef, undef, 0.05 }
}
open my $to, "+<", $out or die "$out: $!";
open my $from, "+<", $in or die "$in: $!";
my $select = IO::Select->new($socket, $from);
while (my @ready = $select->can_read) {
    for my $handle (@ready) {
        my $got = sysread $handle, my $bytes, 65536;
        exit 0 unless $got;
        syswrite $handle == $socket ? $to : $socket, $bytes;
    }
}
PERL
}

# usage: exchange SERVER_FABRIC CLIENT_FABRIC [OPTION]... - starts server and client in two
# containers, each with its own name spaces. The options are those of softverbs run.
exchange() {
    local server_fabric=$1 client_fabric=$2
    shift 2
    write_relay
    # shellcheck disable=SC2016 # for the shell inside
    start server "${contain[@]}" sh -c 'ip link set lo up; perl "$1" 18515 "$2" "$3" connect & program=$4 && shift 4 && exec "$program" run --fabric "$@" ibv_rc_pingpong -n 50 -s 100000' \
        sh "$BATS_TEST_TMPDIR/relay.pl" "$BATS_TEST_TMPDIR/there" "$BATS_TEST_TMPDIR/back" "$tool" "$server_fabric" "$@"
    # shellcheck disable=SC2016
    start client "${contain[@]}" sh -c 'ip link set lo up; perl "$1" 18515 "$2" "$3" listen & until [ -e "$3.ready" ]; do sleep 0.05; done
        program=$4 && shift 4 && exec "$program" run --fabric "$@" ibv_rc_pingpong -n 50 -s 100000 -c 127.0.0.1' \
        sh "$BATS_TEST_TMPDIR/relay.pl" "$BATS_TEST_TMPDIR/back" "$BATS_TEST_TMPDIR/there" "$tool" "$client_fabric" "$@"
}

ends_with() { # NAME STATUS
    local status=0
    wait "${process_of[$1]}" || status=$?
    unset "process_of[$1]"
    [ "$status" -eq "$2" ] || { echo "$1 ended with status $status"; return 1; }
}

@test "two containers that share a fabric directory exchange data by the agent, and each end says once that it does" {
    exchange "$fabric" "$fabric"
    await_end client
    await_end server
    # With -c the client has checked every byte.
    for side in client server; do
        has "$side" '^50 iters in'
        [ "$(wc -l <"$BATS_TEST_TMPDIR/$side.err")" -eq 1 ]
        grep -qE '^opendat: .*; its service thread copies instead; .*one PID namespace \[DAT332\]$' "$BATS_TEST_TMPDIR/$side.err"
    done
    fabric_is_clean
}

@test "two containers: memory that is shared from birth is reached without the agent" {
    [ -e "$TOP_BUILDDIR/.libs/libsoftverbs-heap.so" ] || skip "the shared heap was not built: it needs libjemalloc-dev"
    exchange "$fabric" "$fabric" --shared-heap
    await_end client
    await_end server
    for side in client server; do
        has "$side" '^50 iters in'
        is_silent "$side"
    done
}

@test "two containers with different fabric directories do not see each other: the connection is refused" {
    mkdir -m 700 "$BATS_TEST_TMPDIR/other"
    exchange "$fabric" "$BATS_TEST_TMPDIR/other"
    # The queue pair number that the server has for the other end belongs to another fabric. The
    # client, which would wait for the server's answer, is ended with the test.
    ends_with server 1
    grep -q 'Failed to modify QP to RTR' "$BATS_TEST_TMPDIR/server.err"
    never grep -q 'iters in' "$BATS_TEST_TMPDIR/client.out" "$BATS_TEST_TMPDIR/server.out"
}

@test "softverbs ls shows a container's processes to the machine, and to another container without their numbers" {
    start inside "${contain[@]}" sh -c 'ip link set lo up; exec "$1" run ibv_rc_pingpong' sh "$tool"
    eventually sees_one
    pid=$("$tool" ls | sed -nE 's/^process ([0-9]+) \(ibv_rc_pingpong\).*/\1/p')
    [ "$(cat "/proc/$pid/comm")" = ibv_rc_pingpong ]
    eventually another_container_sees_it
    # In a container with another fabric, it lists no processes.
    mkdir -m 700 "$BATS_TEST_TMPDIR/other"
    run_to_end apart "${contain[@]}" "$tool" ls --fabric "$BATS_TEST_TMPDIR/other"
    prints apart <<<"fabric $BATS_TEST_TMPDIR/other: 0 processes"
}

another_container_sees_it() {
    run_to_end other "${contain[@]}" "$tool" ls
    has other '^a process of another PID namespace: member 0,' && has other '^  queue pair 0x'
}

sees_one() {
    "$tool" ls | grep -q '^  queue pair'
}

@test "a container's end is noticed by the machine: what it left is removed, and the next one joins" {
    start inside "${contain[@]}" sh -c 'ip link set lo up; exec "$1" run ibv_rc_pingpong' sh "$tool"
    eventually sees_one
    pid=$("$tool" ls | sed -nE 's/^process ([0-9]+) \(ibv_rc_pingpong\).*/\1/p')
    kill -9 "$pid"
    wait "${process_of[inside]}" || true
    unset 'process_of[inside]'
    eventually has_dead_member
    run_to_end clean "${contain[@]}" "$tool" clean
    has clean '^removed the socket member-0$'
    fabric_is_clean
}

has_dead_member() {
    "$tool" ls | grep -qx '1 exited process left files behind: softverbs clean'
}
