#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine: --wire --limit 2400
# Tests faults on the wire between two processes, and the death of one of them: each side that lives
# must get the right event, once, and one completion for everything that it has posted
# (test/kernel/survivor.cpp checks both).
# shellcheck disable=SC2154 # server_address and process_of come from the helpers
load helpers
load survivors

setup() { prepare_survivors; }
teardown() { end_on_wire; }
# usage: use_pair PROVIDER [STACK]
use_pair() { use_wire "${2:-ours}" "$1"; }

# The active side loses its interface at once; the passive side notices by its own transfers.
link_goes_down() { # PROVIDER
    transfer_in_both_directions "$1"
    pull_plug
    breaks active ESTABLISHED BROKEN
    breaks passive ESTABLISHED BROKEN
}

link_is_down_before_the_request() { # PROVIDER ACTIVE_EVENT
    use_pair "$1"
    start_side passive
    await_line passive listening
    pull_plug
    start_side active --connect "$server_address" --timeout 20
    ended active "$2"
    kill "$(program_of passive)"
}

cable_is_cut_before_the_request() { # PROVIDER ACTIVE_EVENT
    use_pair "$1"
    start_side passive
    await_line passive listening
    cut
    start_side active --connect "$server_address" --timeout 20
    ended active "$2"
    kill "$(program_of passive)"
}

# usage: request_is_held PROVIDER OPTIONS... - the active side waits for an answer that the passive
# side does not give yet.
request_is_held() {
    use_pair "$1"
    start_pair "${*:2}" "--accept-when $accept"
    await_line passive '^request$'
}

answer_is_lost() { # PROVIDER ACTIVE_EVENT PASSIVE_EVENTS...
    request_is_held "$1" --timeout 20
    cut
    touch "$accept"
    ended active "$2"
    ended passive "${@:3}"
}

passive_is_killed() { # PROVIDER ACTIVE_EVENT
    transfer_in_both_directions "$1"
    kill -KILL "$(program_of passive)"
    wait "${process_of[passive]}" || true
    unset 'process_of[passive]'
    breaks active ESTABLISHED "$2"
}

active_is_killed_while_idle() { # PROVIDER
    use_pair "$1"
    start_pair --idle --idle
    await_line active ESTABLISHED
    await_line passive ESTABLISHED
    kill -KILL "$(program_of active)"
    wait "${process_of[active]}" || true
    unset 'process_of[active]'
    ends passive ESTABLISHED DISCONNECTED
    never_failed passive
}

active_is_killed_before_the_answer() { # PROVIDER
    request_is_held "$1"
    kill -KILL "$(program_of active)"
    wait "${process_of[active]}" || true
    unset 'process_of[active]'
    sleep 1
    touch "$accept"
    ends passive ACCEPT_COMPLETION_ERROR
}

passive_is_killed_before_its_answer() { # PROVIDER ACTIVE_EVENT
    request_is_held "$1"
    kill -KILL "$(program_of passive)"
    wait "${process_of[passive]}" || true
    unset 'process_of[passive]'
    ended active "$2"
}

passive_is_stopped() { # PROVIDER
    transfer_in_both_directions "$1"
    kill -STOP "$(program_of passive)"
    sleep 5
    kill -CONT "$(program_of passive)"
    orderly_end
}

@test "cma: 1 % of the packets lost, the data arrive as they were sent" { loses_packets 1 200 cma; }
@test "cma: 10 % of the packets lost, the data arrive as they were sent" { loses_packets 10 60 cma; }
@test "cma: the cable is cut and comes back within the time for retries: no event, the transfers go on" { cable_comes_back cma; }
@test "cma: the cable is cut in the middle of transfers: both sides break" { cable_is_cut cma; }
@test "cma: the link goes down in the middle of transfers: both sides break" { link_goes_down cma; }
@test "cma: the link is down before the request" { link_is_down_before_the_request cma UNREACHABLE; }
@test "cma: the cable is cut between request and answer: the active side's time is over, the accept fails" {
    answer_is_lost cma TIMED_OUT ACCEPT_COMPLETION_ERROR
}
@test "cma: the peer is killed in the middle of transfers" { passive_is_killed cma DISCONNECTED; }
@test "cma: the peer is killed while nothing is transferred" { active_is_killed_while_idle cma; }
@test "cma: the peer is killed before its request is answered" { active_is_killed_before_the_answer cma; }
@test "cma: the peer is killed before it answers" { passive_is_killed_before_its_answer cma NON_PEER_REJECTED; }
@test "cma: the peer is stopped and continued: no event, the transfers go on" { passive_is_stopped cma; }

@test "scm: 1 % of the packets lost, the data arrive as they were sent" { loses_packets 1 200 scm; }
@test "scm: 10 % of the packets lost, the data arrive as they were sent" { loses_packets 10 60 scm; }
@test "scm: the cable is cut and comes back within the time for retries: no event, the transfers go on" { cable_comes_back scm; }
@test "scm: the cable is cut in the middle of transfers: both sides break" { cable_is_cut scm; }
@test "scm: the cable is cut before the request: the active side's time is over" { cable_is_cut_before_the_request scm TIMED_OUT; }
@test "scm: the cable is cut between request and answer: the active side's time is over, the accept fails" {
    answer_is_lost scm TIMED_OUT ACCEPT_COMPLETION_ERROR
}
@test "scm: the peer is killed in the middle of transfers" { passive_is_killed scm DISCONNECTED; }
@test "scm: the peer is killed while nothing is transferred" { active_is_killed_while_idle scm; }
@test "scm: the peer is killed before its request is answered" { active_is_killed_before_the_answer scm; }
@test "scm: the peer is killed before it answers" { passive_is_killed_before_its_answer scm NON_PEER_REJECTED; }
@test "scm: the peer is stopped and continued: no event, the transfers go on" { passive_is_stopped scm; }

# Shorter than on a network, so that a test need not wait for minutes until nobody answers.
short_times() {
    export DAPL_UCM_REP_TIME=200 DAPL_UCM_RTU_TIME=200 DAPL_UCM_RETRY=6
}

# usage: connects_under_loss PERCENT ROUNDS - makes and ends connections one after another.
connects_under_loss() {
    local round
    short_times
    lose "$1" active passive
    for ((round = 0; round < $2; ++round)); do
        use_wire ours ucm
        rm -f "$until"
        start_pair "--idle --until $until" --idle
        # A disconnect that overtakes a lost confirmation ends the accept.
        await_line active '^event ESTABLISHED$'
        await_line passive '^event ESTABLISHED$'
        touch "$until"
        ends active ESTABLISHED DISCONNECTED
        ends passive ESTABLISHED DISCONNECTED
        never_failed active
        never_failed passive
    done
}

@test "ucm: 20 % of the packets lost, each connection is made and ended" { connects_under_loss 20 12; }
@test "ucm: 1 % of the packets lost, the data arrive as they were sent" { loses_packets 1 200 ucm; }
@test "ucm: 10 % of the packets lost, the data arrive as they were sent" { loses_packets 10 60 ucm; }
@test "ucm: the cable is cut and comes back within the time for retries: no event, the transfers go on" { cable_comes_back ucm; }
@test "ucm: the cable is cut in the middle of transfers: both sides break" { cable_is_cut ucm; }
@test "ucm: the cable is cut before the request: the active side's time is over" {
    ip neighbour replace 10.77.1.2 lladdr "$(cat /sys/class/net/veth3/address)" dev veth2 nud permanent
    cable_is_cut_before_the_request ucm TIMED_OUT
}
@test "ucm: the cable is cut before the kernel knows the peer's address" {
    ip neighbour del 10.77.1.2 dev veth2 || true
    short_times
    cable_is_cut_before_the_request ucm UNREACHABLE
}
@test "ucm: the cable is cut between request and answer: the active side's time is over, the accept fails" {
    short_times
    answer_is_lost ucm UNREACHABLE ACCEPT_COMPLETION_ERROR
}
@test "ucm: the peer is killed in the middle of transfers" { passive_is_killed ucm BROKEN; }
@test "ucm: the peer is killed before its request is answered" {
    short_times
    active_is_killed_before_the_answer ucm
}
@test "ucm: the peer is killed before it answers" {
    short_times
    passive_is_killed_before_its_answer ucm UNREACHABLE
}
@test "ucm: the peer is stopped and continued: no event, the transfers go on" { passive_is_stopped ucm; }
