# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# The matrix of our stack against the reference's: every pairing of a server's libraries with a
# client's, and every case of what they do with each other. A test's name is its place in the
# matrix, in words that cell() reads:
#
#     @test "PROVIDER on DEVICE, OWNER server, OWNER client: CASE" { cell; }    OWNER: our | the reference's
#
# run_pairings runs all programs of a provider on a device and keeps their output in $results; the
# tests only read it. So the tests may run elsewhere: outside of the machine of test/kernel, where
# each process costs a second. The cases of interoperation_peer come from one conversation for each
# pairing. Its lines must be those that the reference prints when it talks to itself; where our end
# answers otherwise on purpose, the table "Where the two differ" of doc/compatibility.md says so, also
# where the reference's end answers otherwise to ours.

# On a busy machine, the reference's socket manager hands on a request whose private data has not
# arrived yet.
lost_conversations='Error with CONNECT REQUEST private data'
# The server of the reference's dtest sends first, which iWARP forbids: if its message arrives too
# early, siw ends the connection.
spoken_too_early='unexpected conn event : 0x4008'

# -- running ----------------------------------------------------------------------------------------

# usage: describe_run [WHOSE_KERNEL] - prints lines for the outcome table (test/support/outcomes).
describe_run() {
    echo "# about: OpenDAT: $(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$TOP_BUILDDIR/config.h")"
    # shellcheck disable=SC2016 # dpkg's own variables
    dpkg-query -W -f '# about: ${Package}: ${Version}\n' libdapl2 dapl2-utils libibverbs1 2>/dev/null || true
    local release
    release=$(uname -r)
    echo "# about: Linux${1:-}: ${release%%-*}"
    echo "# about: date: $(date -u +%Y-%m-%d)"
}

# usage: choose_stack ours|debian PROVIDER DEVICE - sets ${stack[@]} and $server_address.
choose_stack() {
    server_address=127.0.0.1
    case $2-$3 in
        cma-soft0) use_stack "$1" libdaplofa.so.2 'lo 0' preload ;;
        scm-soft0) use_stack "$1" libdaploscm.so.2 'soft0 1' preload && stack+=(DAPL_SCM_NETDEV=lo) ;;
        ucm-soft0)
            use_stack "$1" libdaploucm.so.2 'soft0 1' preload
            # The peers' client connects to the IA address that their server leaves there.
            stack+=("DAT_TEST_ADDRESS_FILE=$BATS_TEST_TMPDIR/ia-address")
            ;;
        *) use_device "$1" "$2" "$3" ;;
    esac
}

# usage: run_both KEPT LOST READY SERVER_COMMAND... -- CLIENT_COMMAND... - runs both until neither
# has lost a race of its own, which shows as a line like LOST. READY waits for the server. Leaves
# their output and their statuses in the new directory KEPT.
run_both() {
    local kept=$1 lost=$2 ready=$3 attempt server_status client_status server_command=()
    shift 3
    while [ "$1" != -- ]; do
        server_command+=("$1")
        shift
    done
    shift
    mkdir -p "$kept"
    for attempt in {1..20}; do
        server_status=0 client_status=0
        start_serving "${server_command[@]}"
        "$ready" || true
        start client "${client_stack[@]}" "$@"
        # A client that has lost may wait for ever.
        eventually succeeds_or_ended client has_lost "$lost" || true
        if has_lost "$lost"; then kill "${process_of[client]}" 2>/dev/null || true; fi
        wait "${process_of[client]}" || client_status=$?
        has_lost "$lost" || break
        kill "${process_of[server]}" 2>/dev/null || true
        wait "${process_of[server]}" || true
    done
    wait "${process_of[server]}" || server_status=$?
    unset 'process_of[client]' 'process_of[server]'
    mv "$BATS_TEST_TMPDIR"/{server,client}.{out,err} "$kept"
    echo "server ended with status $server_status, client with $client_status (124: by the deadline), attempt $attempt" >"$kept/statuses"
}

has_lost() { grep -qE "$1" "$BATS_TEST_TMPDIR"/{server,client}.{out,err}; }

peer_listens() { await_line server '^start: listening$'; }
dtest_listens() { await_port server 15828; }

# usage: run_pairing PROVIDER DEVICE SERVER CLIENT - SERVER and CLIENT are each ours or debian.
run_pairing() {
    local kept=$results/$1-$2/$3-$4 peer=("$TOP_BUILDDIR/test/compat/.libs/interoperation_peer" ia 45300) options=(-P ia -b 4096 -B 50)
    local dtest
    choose_stack "$3" "$1" "$2"
    server_stack=("${stack[@]}")
    choose_stack "$4" "$1" "$2"
    client_stack=("${stack[@]}")
    run_both "$kept/conversation" "$lost_conversations" peer_listens "${peer[@]}" -- "${peer[@]}" "$server_address"
    runs_dtest "$2" || return 0
    dtest=$TOP_BUILDDIR/.libs/dtest
    run_both "$kept/our dtest" "$lost_conversations" dtest_listens "$dtest" -s "${options[@]}" -- \
        "$dtest" "${options[@]}" -h "$server_address"
    dtest=$(command -v dtest)
    run_both "$kept/the reference's dtest" "$lost_conversations|$lost_races|$spoken_too_early" dtest_listens "$dtest" -s "${options[@]}" -- \
        "$dtest" "${options[@]}" -h "$server_address"
}

# usage: runs_dtest DEVICE - between two machines, the message that siw's server must not send first is mostly
# too early, and a client that lost it waits for ever.
runs_dtest() { [ "$1${elsewhere:+ of two machines}" != 'siw0 of two machines' ]; }

# usage: run_pairings PROVIDER DEVICE - runs all four; never fails.
run_pairings() {
    local server client
    for server in debian ours; do
        for client in debian ours; do
            run_pairing "$1" "$2" "$server" "$client"
        done
    done
}

# -- reading ----------------------------------------------------------------------------------------

# usage: place_of NAME - sets the test's place in the matrix: $provider $device $server $client
# (ours or debian) and $case.
place_of() {
    local owner="(our|the reference's)"
    [[ $1 =~ ^(cma|scm|ucm)\ on\ ([a-z0-9]+),\ $owner\ server,\ $owner\ client:\ (.+)$ ]] || { echo "no place in the matrix: $1"; return 1; }
    provider=${BASH_REMATCH[1]} device=${BASH_REMATCH[2]} case=${BASH_REMATCH[5]}
    server=debian client=debian
    [ "${BASH_REMATCH[3]}" != our ] || server=ours
    [ "${BASH_REMATCH[4]}" != our ] || client=ours
    pairings=$results/$provider-$device
    said=$pairings/$server-$client
}

# usage: lines_of FILE - prints those of $case.
lines_of() {
    case $case in
        'open and close') grep -E '^(start|end): ' "$1" ;;
        connect) grep '^connect: ' "$1" | grep -v '^connect: private data' ;;
        'private data') grep '^connect: private data' "$1" ;;
        *) grep "^$case: " "$1" ;;
    esac
}

# Prints the table's rows: PROVIDER on DEVICE <tab> CASE <tab> THE REFERENCE'S LINE <tab> OURS; the
# first two may be patterns.
differences() {
    sed -n '/^### Where the two differ/,/^##/p' "$TOP_SRCDIR/doc/compatibility.md" | grep '^| `' |
        sed 's/^| *//; s/ *| */\t/g; s/`//g'
}

# usage: as_ours PLACE - prints what an end there has to say where the reference with itself says the
# lines of standard input.
as_ours() {
    local place=$1 line row on cases theirs ours reason prefix table
    mapfile -t table < <(differences)
    while IFS= read -r line; do
        prefix=${line%%: *}
        for row in "${table[@]}"; do
            IFS=$'\t' read -r on cases theirs ours reason <<<"$row"
            # shellcheck disable=SC2053 # patterns
            if [[ $place == $on && $prefix == $cases && $line == "$prefix: $theirs" && -n $reason ]]; then
                line="$prefix: $ours"
                echo "$on"$'\t'"$cases"$'\t'"$theirs" >>"$BATS_FILE_TMPDIR/needed"
                break
            fi
        done
        echo "$line"
    done
}

# usage: shows FILE COUNT PATTERN - checks that at least COUNT lines of $case match.
shows() {
    [ "$(lines_of "$1" | grep -cE "$3")" -ge "$2" ] || { echo "${1##*/}: not $2 times '$3'"; return 1; }
}

# usage: is_well SIDE FILE - checks what makes the case a success, whatever the reference says.
is_well() {
    ! lines_of "$2" | grep 'NOT as sent\|given up' || return 1
    case $1/$case in
        */'open and close') shows "$2" 1 '^end: dat_ia_close: 0x00000000$' ;;
        */connect) shows "$2" 1 'connection event: 0x04001$' ;;
        */'private data') shows "$2" 1 'size [1-9][0-9]*, as sent$' || [ "$1" = server ] ;;
        */send) shows "$2" 3 'received data: as sent$' ;;
        */'RDMA write') shows "$2" 1 'data written: as sent$' ;;
        */'RDMA read') shows "$2" 1 'data read: as sent$' ;;
        */disconnect*) shows "$2" 1 'connection event: 0x04005$' && shows "$2" 1 'receive left' ;;
        client/'reject with data') shows "$2" 1 'event: 0x04002$' && shows "$2" 1 'size [1-9][0-9]*, as sent$' ;;
        client/'reject without data') shows "$2" 1 'event: 0x04002$' ;;
        client/'nobody listens') shows "$2" 1 'event: 0x04003$' ;;
        server/reject*) shows "$2" 1 'dat_cr_reject: 0x00000000$' ;;
        server/'nobody listens') ;;
    esac
}

# usage: same_answers SIDE - checks that this end said what the reference's end says to a reference.
same_answers() {
    local place="$provider on $device"
    local mine=$said/conversation/$1.out wanted=$BATS_TEST_TMPDIR/$1.wanted
    lines_of "$pairings/debian-debian/conversation/$1.out" >"$wanted" || [ "$1/$case" = 'server/nobody listens' ] ||
        { echo "the reference's $1 does not come to '$case' with its own kind"; return 1; }
    if [ "${!1}" = ours ]; then
        is_well "$1" "$mine" || return 1
    elif [ "$server" = ours ]; then
        place+=", our server"
    elif [ "$client" = ours ]; then
        place+=", our client"
    else
        place=
    fi
    if [ -n "$place" ]; then
        as_ours "$place" <"$wanted" >"$wanted.here"
        wanted=$wanted.here
    fi
    diff --label "the $1 must say" --label "the $1 says" -u "$wanted" <(lines_of "$mine")
}

conversation_cell() {
    same_answers server
    same_answers client
    [ "$case" != 'open and close' ] || grep 'status 0, client with 0' "$said/conversation/statuses"
}

# All transfers of dtest passed on both ends: its last line says everything.
dtest_cell() {
    local side
    for side in server client; do
        [[ $(grep . "$said/$case/$side.out" | tail -n 1) == *'DAPL Test Complete. PASSED' ]] ||
            { echo "the $side's last line does not say PASSED"; return 1; }
    done
}

show() {
    local program=conversation file
    [[ $case != *dtest ]] || program=$case
    for file in "$said/$program"/*; do
        [ ! -s "$file" ] || { echo "-- ${file##*/}"; tail -n 30 "$file"; }
    done
}

# Runs the test whose name is a place in the matrix.
cell() {
    place_of "$BATS_TEST_DESCRIPTION"
    show
    case $case in
        *dtest) dtest_cell ;;
        *) conversation_cell ;;
    esac
}

# usage: every_difference_is_needed "PROVIDER on DEVICE"... - checks that earlier tests have met
# each row of the table about these.
every_difference_is_needed() {
    local place on cases theirs rest
    differences | while IFS=$'\t' read -r on cases theirs rest; do
        for place in "$@"; do
            # shellcheck disable=SC2053 # a pattern
            [[ $place == $on ]] || continue
            grep -qF "$on"$'\t'"$cases"$'\t'"$theirs" "$BATS_FILE_TMPDIR/needed" 2>/dev/null || echo "not met: $on, $cases: $theirs"
        done
    done >"$BATS_TEST_TMPDIR/unneeded"
    cat "$BATS_TEST_TMPDIR/unneeded"
    [ ! -s "$BATS_TEST_TMPDIR/unneeded" ]
}

# The recorder stands between the two ends of a conversation over sockets and keeps what they say in
# $record_file.
stop_recorder() {
    [ -n "${process_of[recorder]:-}" ] || return 0
    kill "${process_of[recorder]}"
    wait "${process_of[recorder]}" || true
    unset 'process_of[recorder]'
}

# run_both calls this in each attempt.
server_and_recorder_listen() {
    await_line server '^start: listening$'
    stop_recorder
    # shellcheck disable=SC2154 # set by who loads this
    start recorder "$TOP_SRCDIR/test/compat/recorder" 46400 46300 "$record_file"
    await_line recorder listening
}
