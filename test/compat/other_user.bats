#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A fabric belongs to one user. Tests what another user of the machine may not do with it; needs
# root, to be both users.
load helpers

setup() {
    [ "$EUID" = 0 ] || skip "only root can become another user"
    need_program setpriv perl rping
    start_network
    [ "${#enter_network[@]}" -lt 5 ] || skip "in a user name space there is no other user"
    # bats' own directory is closed to others; this one is open, down to the fabric itself.
    open=$(mktemp -d)
    chmod 755 "$open"
    cp "$softverbs" "$open/"
    softverbs=$open/libsoftverbs.so
    mkdir -m 700 "$open/fabric"
    fabric=$open/fabric
    export SOFTVERBS_FABRIC=$fabric
}
teardown() {
    stop_all
    rm -rf "${open:-/nonexistent}"
}

other=(setpriv --reuid=65534 --regid=65534 --clear-groups)

start_server() {
    start server env LD_PRELOAD="$softverbs" stdbuf -oL rping -s -a 127.0.0.1 -p 7174 -d
    await_line server '^rdma_listen$'
    server_process=$(pgrep -n -P "${process_of[server]}" rping)
}

fails_as_other() {
    local status=0
    start other "${other[@]}" "$@"
    wait "${process_of[other]}" || status=$?
    unset 'process_of[other]'
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || { echo "status $status as another user: $*"; return 1; }
}

@test "another user: cannot open the device in our fabric, and is told whose it is" {
    start_server
    fails_as_other env LD_PRELOAD="$softverbs" rping -c -a 127.0.0.1 -p 7174 -C 1
    grep -E "opendat: error: .*$fabric" "$BATS_TEST_TMPDIR/other.err"
    kill -0 "$server_process"
}

@test "another user: cannot lure us into a fabric of their own" {
    chown 65534 "$fabric"
    start ours env LD_PRELOAD="$softverbs" rping -s -a 127.0.0.1 -p 7174
    status=0
    wait "${process_of[ours]}" || status=$?
    unset 'process_of[ours]'
    [ "$status" -ne 0 ]
    [ "$status" -ne 124 ]
    grep -E "opendat: error: .*$fabric" "$BATS_TEST_TMPDIR/ours.err"
}

@test "another user: cannot read our memory or our descriptors, nor list the fabric" {
    start_server
    fails_as_other ls "$fabric"
    fails_as_other ls "/proc/$server_process/fd/"
    fails_as_other cat "/proc/$server_process/maps"
    [ -z "$(find "$fabric" -perm /022)" ] || { echo "open to others:"; find "$fabric" -perm /022 -ls; false; }
}

# Suppose the directory were open: the process itself checks who has connected.
@test "another user: who reaches the socket nevertheless is turned away without a word" {
    start_server
    chmod 755 "$fabric"
    find "$fabric" -type s -exec chmod 777 {} +
    socket=$(find "$fabric" -type s | head -n 1)
    [ -n "$socket" ]
    run_to_end visitor "${other[@]}" perl -MSocket -e '
        socket(my $s, AF_UNIX, SOCK_SEQPACKET, 0) or die "socket: $!";
        connect($s, pack_sockaddr_un($ARGV[0])) or die "connect: $!";
        my $n = sysread($s, my $record, 65536);
        print defined $n && $n > 0 ? "got $n bytes\n" : "turned away\n";' "$socket"
    has visitor '^turned away$'
    kill -0 "$server_process"
}
