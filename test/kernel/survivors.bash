# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # server_address and process_of come from the helpers
# Tests with a pair of test/kernel/survivor: each side that lives must get the right event, once, and one
# completion for everything that it has posted; the programs check the latter. A test file defines
#
#     use_pair PROVIDER...    sets ${active[@]}, ${passive[@]} and $server_address

prepare_survivors() {
    # shellcheck disable=SC2034 # for the helpers
    deadline_seconds=300
    until=$BATS_TEST_TMPDIR/until
    # shellcheck disable=SC2034 # for the tests
    accept=$BATS_TEST_TMPDIR/accept
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
told_of_the_end='^opendat: warning: the connection of EP [0-9a-f]+ \(handle 0x[0-9a-f]+\) with (10\.7[78]\.[01]\.[12]:[0-9]+|LID 0, QPN [0-9]+, GID [0-9a-f.:]+) broke: .*, requests flushed: [0-9]+; before: .*-> CONNECTED .* ago; .* \[DAT290\]$'

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

transfer_in_both_directions() { # PAIR...
    use_pair "$@"
    start_pair "--until $until"
    await_line active '^messages 40$'
    await_line passive '^messages 40$'
}

loses_packets() { # PERCENT MESSAGES PAIR...
    use_pair "${@:3}"
    start_pair "--until $until"
    await_line active 'ESTABLISHED'
    lose "$1" active passive
    await_line active "^messages $2$"
    await_line passive "^messages $2$"
    orderly_end
}

cable_comes_back() { # PAIR...
    transfer_in_both_directions "$@"
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
