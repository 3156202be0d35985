#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine: --two --limit 2400
# Tests faults between two machines, up to one that is switched off: each side that lives must get the right
# event, once, one completion for everything that it has posted, and a line that says how the connection broke.
# shellcheck disable=SC2154 # what the helpers set
load helpers
load survivors

setup() { prepare_survivors; }
teardown() { end_on_wire; }
# usage: use_pair PROVIDER [DEVICE]
use_pair() { use_machines ours "$1" "${2:-rxe0}"; }

@test "cma on rxe: 1 % of the packets lost, the data arrive as they were sent" { loses_packets 1 200 cma; }
@test "scm on rxe: 1 % of the packets lost, the data arrive as they were sent" { loses_packets 1 200 scm; }
@test "ucm on rxe: 1 % of the packets lost, the data arrive as they were sent" { loses_packets 1 200 ucm; }

is_slow() { # PROVIDER
    use_pair "$@"
    delay_wire
    start_pair "--until $until"
    await_line active '^messages 200$'
    await_line passive '^messages 200$'
    orderly_end
}
@test "cma on rxe: 20 ms delay, the data arrive as they were sent" { is_slow cma; }
@test "scm on rxe: 20 ms delay, the data arrive as they were sent" { is_slow scm; }
@test "ucm on rxe: 20 ms delay, the data arrive as they were sent" { is_slow ucm; }

@test "cma on rxe: the wire is cut for 2 s: no event, the transfers go on" { cable_comes_back cma; }
@test "scm on rxe: the wire is cut for 2 s: no event, the transfers go on" { cable_comes_back scm; }
@test "ucm on rxe: the wire is cut for 2 s: no event, the transfers go on" { cable_comes_back ucm; }

# iWARP ends a connection whose receiver is not ready, so both sides must not send as they please: dat_ping
# waits for each answer.
start_ping() { # OPTIONS...
    use_pair cma siw0
    start_serving "$TOP_BUILDDIR/.libs/dat_ping" --listen --ia ia
    await_line server listening
    start ping "${stack[@]}" "$TOP_BUILDDIR/.libs/dat_ping" --ia ia --timeout 120 --size 10000 "$@" "$server_address"
    await_line ping 'seq=3'
}
all_are_answered() {
    await_end ping
    is_silent ping
    has ping '^100 packets transmitted, 100 received, 0% packet loss'
}
@test "cma on siw: 1 % of the packets lost, all messages are answered" {
    use_pair cma siw0
    lose 1 active passive
    start_ping -c 100 --interval 0.01
    all_are_answered
}
@test "cma on siw: 20 ms delay, all messages are answered" {
    use_pair cma siw0
    delay_wire
    start_ping -c 100 --interval 0.01
    all_are_answered
}
@test "cma on siw: the wire is cut for 2 s, all messages are answered" {
    start_ping -c 100 --interval 0.1
    cut
    sleep 2
    mend_wire
    all_are_answered
}

# This machine's link takes packets of 1024 bytes of data, the other's of 4096.
links_differ() { # PROVIDER
    ip link set veth0 mtu 1500
    transfer_in_both_directions "$1"
    orderly_end
}
@test "cma: links with different MTUs" { links_differ cma; }
@test "scm: links with different MTUs" { links_differ scm; }
@test "ucm: links with different MTUs" { links_differ ucm; }

# Entry 700 of the GID table is empty.
@test "scm: an entry of the GID table that is not there is told when the IA is opened" {
    use_pair scm
    start active "${active[@]}" DAPL_GID_INDEX=700 "$TOP_BUILDDIR/test/kernel/.libs/survivor" ia --connect "$server_address"
    local status=0
    wait "${process_of[active]}" || status=$?
    unset 'process_of[active]'
    [ "$status" -ne 0 ]
    grep -E 'GID.*700' "$BATS_TEST_TMPDIR/active.err"
}

# All pairs at once, because the second machine does not come back.
@test "the other machine is switched off in the middle of transfers: each side here is told so" {
    local pair name port=45700 command
    for pair in 'cma rxe0' 'scm rxe0' 'ucm rxe0'; do
        # shellcheck disable=SC2086 # two words
        use_pair $pair
        name=${pair/ /_}
        port=$((port + 1))
        command=("$TOP_BUILDDIR/test/kernel/.libs/survivor" ia --port "$port")
        start "passive_$name" "${passive[@]}" "${command[@]}"
        await_line "passive_$name" listening
        start "active_$name" "${active[@]}" "${command[@]}" --connect "$server_address"
        await_line "active_$name" '^messages 40$'
    done
    start_ping --interval 0.1
    # Not after a quarter of an hour: TCP's own patience.
    echo 5 >/proc/sys/net/ipv4/tcp_retries2
    "${elsewhere[@]}" sh -c 'echo b >/proc/sysrq-trigger' || true
    elsewhere=()
    for name in cma_rxe0 scm_rxe0 ucm_rxe0; do
        breaks "active_$name" ESTABLISHED BROKEN
    done
    # dat_ping tells it itself, and tries again.
    await_line ping '^no answer from 10\.78\.1\.2: seq=[0-9]+: the connection has ended$'
}
