#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine: --wire --limit 2400
# Tests faults on the wire between two processes, and the death of one of them: each side that lives
# must get the right event, once, and one completion for everything that it has posted
# (test/kernel/survivor.cpp checks both).
# shellcheck disable=SC2154 # server_address and process_of come from the helpers
load helpers

setup() {
    # shellcheck disable=SC2034 # for the helpers
    deadline_seconds=300
    until=$BATS_TEST_TMPDIR/until
    accept=$BATS_TEST_TMPDIR/accept
}
teardown() {
    stop_all
    mend_wire
}

# usage: start_side active|passive OPTIONS...
start_side() {
    local -n side_stack=$1
    start "$1" "${side_stack[@]}" "$TOP_BUILDDIR/test/kernel/.libs/survivor" ia "${@:2}"
}

# usage: start_pair ACTIVE_OPTIONS [PASSIVE_OPTIONS]
start_pair() {
    # shellcheck disable=SC2086 # words
    start_side passive ${2:-}
    await_line passive listening
    # shellcheck disable=SC2086
    start_side active --connect "$server_address" $1
}

# usage: ended SIDE EVENT... - the side must end by itself, with all posted requests accounted for,
# after these connection events and no others.
ended() {
    await_end "$1"
    has "$1" '^closed$'
    had_events "$@"
}

# usage: ends SIDE EVENT... - the same, and nothing was reported to the user.
ends() {
    ended "$@"
    is_silent "$1"
}

# usage: breaks SIDE EVENT... - the same, and one line reported to the user how the connection
# broke.
breaks() {
    ended "$@"
    was_told_of_the_end "$1" 1
}

# usage: was_told_of_the_end SIDE COUNT... - standard error must have one of these numbers of lines
# about it, and nothing else.
was_told_of_the_end() {
    local file=$BATS_TEST_TMPDIR/$1.err lines count
    lines=$(wc -l <"$file")
    if [ "$(grep -cE "$told_of_the_end" "$file")" = "$lines" ]; then
        for count in "${@:2}"; do [ "$lines" != "$count" ] || return 0; done
    fi
    echo "the $1 side was told:"
    cat "$file"
    return 1
}
told_of_the_end='^opendat: warning: the connection of EP [0-9a-f]+ \(handle 0x[0-9a-f]+\) with (10\.77\.1\.[12]:[0-9]+|LID 0, QPN [0-9]+, GID [0-9a-f.:]+) broke: .*, requests flushed: [0-9]+; before: .*-> CONNECTED .* ago; .* \[DAT290\]$'

had_events() {
    local side=$1 events
    shift
    events=$(sed -n 's/^event //p' "$BATS_TEST_TMPDIR/$side.out" | tr '\n' ' ')
    [ "${events% }" = "$*" ] || { echo "the $side side's events were '${events% }', not '$*'"; return 1; }
}

# usage: never_failed SIDE - no request may fail: those that were not done were flushed at the end.
never_failed() {
    has "$1" '^end: [0-9]+ done, 0 failed,'
}

messages_of() {
    sed -n 's/^messages //p' "$BATS_TEST_TMPDIR/$1.out" | tail -n 1
}

more_messages_than() {
    [ "$(messages_of "$1")" -gt "$2" ]
}

# usage: orderly_end - the transfers must go on, and the active side's disconnect must be the only
# end.
orderly_end() {
    local before
    before=$(messages_of passive)
    eventually more_messages_than passive "$before"
    touch "$until"
    ends active ESTABLISHED DISCONNECTED
    ended passive ESTABLISHED DISCONNECTED
    # Its last messages may or may not be on their way when the disconnect comes.
    was_told_of_the_end passive 0 1
    never_failed active
    never_failed passive
}

transfer_in_both_directions() { # PROVIDER [STACK]
    use_wire "${2:-ours}" "$1"
    start_pair "--until $until"
    await_line active '^messages 40$'
    await_line passive '^messages 40$'
}

loses_packets() { # PROVIDER PERCENT MESSAGES
    use_wire ours "$1"
    start_pair "--until $until"
    await_line active 'ESTABLISHED'
    lose "$2" active passive
    await_line active "^messages $3$"
    await_line passive "^messages $3$"
    orderly_end
}

# usage: cut - loses every packet, in both directions.
cut() {
    lose 100 active passive
}

cable_comes_back() { # PROVIDER
    transfer_in_both_directions "$1"
    cut
    sleep 2
    mend_wire
    orderly_end
}

cable_is_cut() { # PROVIDER
    transfer_in_both_directions "$1"
    cut
    breaks active ESTABLISHED BROKEN
    breaks passive ESTABLISHED BROKEN
}

# The active side loses its interface at once; the passive side notices by its own transfers.
link_goes_down() { # PROVIDER
    transfer_in_both_directions "$1"
    pull_plug
    breaks active ESTABLISHED BROKEN
    breaks passive ESTABLISHED BROKEN
}

link_is_down_before_the_request() { # PROVIDER ACTIVE_EVENT
    use_wire ours "$1"
    start_side passive
    await_line passive listening
    pull_plug
    start_side active --connect "$server_address" --timeout 20
    ended active "$2"
    kill "$(program_of passive)"
}

cable_is_cut_before_the_request() { # PROVIDER ACTIVE_EVENT
    use_wire ours "$1"
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
    use_wire ours "$1"
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
    use_wire ours "$1"
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

@test "cma: 1 % of the packets lost, the data arrive as they were sent" { loses_packets cma 1 200; }
@test "cma: 10 % of the packets lost, the data arrive as they were sent" { loses_packets cma 10 60; }
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

@test "scm: 1 % of the packets lost, the data arrive as they were sent" { loses_packets scm 1 200; }
@test "scm: 10 % of the packets lost, the data arrive as they were sent" { loses_packets scm 10 60; }
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
@test "ucm: 1 % of the packets lost, the data arrive as they were sent" { loses_packets ucm 1 200; }
@test "ucm: 10 % of the packets lost, the data arrive as they were sent" { loses_packets ucm 10 60; }
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
