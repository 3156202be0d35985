#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the program dat_regd: it serves, shows its status and ends. test/tools/regd_test tests what
# it decides.
load ../compat/helpers

regd=$TOP_BUILDDIR/dat_regd

setup() {
    export OPENDAT_REGISTRATION_DIRECTORY=$BATS_TEST_TMPDIR/tables OPENDAT_REGD_SOCKET=$BATS_TEST_TMPDIR/socket
    daemon=
}

teardown() { [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null || true; }

start() {
    "$regd" "$@" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    daemon=$!
    for _ in $(seq 600); do
        "$regd" --status >/dev/null 2>&1 && return
        sleep 0.1
    done
    cat "$BATS_TEST_TMPDIR/errors"
    false
}

@test "dat_regd serves until SIGTERM, ends with 0 and leaves no socket" {
    start
    [ -S "$OPENDAT_REGD_SOCKET" ]
    kill "$daemon"
    wait "$daemon"
    daemon=
    [ ! -e "$OPENDAT_REGD_SOCKET" ]
    [ ! -s "$BATS_TEST_TMPDIR/errors" ]
}

@test "dat_regd --status shows a row for each user, as a table and as the document of its schema" {
    start --entries=7 --weight=$(id -u)=3
    "$TOP_BUILDDIR/test/tools/regd_client" "$BATS_TEST_TMPDIR/clients" "$OPENDAT_REGD_SOCKET" 3>&- &
    client=$!
    for _ in $(seq 600); do
        "$regd" --status --json >"$BATS_TEST_TMPDIR/json"
        jq -e '.users | length == 1 and .[0].used_entries == 2' "$BATS_TEST_TMPDIR/json" >/dev/null && break
        sleep 0.1
    done
    kill "$client"
    "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/dat_regd.json" <"$BATS_TEST_TMPDIR/json"
    jq -e --argjson user "$(id -u)" --argjson pid "$client" '.users[0] | .adapter == "adapter0" and .user == $user and
        .pid == $pid and .weight == 3 and .capacity_entries == 7 and .budget_entries == 7 and
        .budget_bytes == null' "$BATS_TEST_TMPDIR/json"
    "$regd" --status | grep -qE "^adapter0 +$(id -u) .* 7 +2 +0 +7$"
}

@test "dat_regd takes an adapter's registrations from its device, and shares out no adapter that is no device" {
    softverbs=$TOP_BUILDDIR/softverbs
    "$softverbs" run "$regd" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    daemon=$!
    # ibv_devices prints the GUID in network byte order.
    guid=$("$softverbs" run ibv_devices | awk '$1 == "soft0" { print $2 }' | fold -w2 | tac | tr -d '\n')
    clients=()
    for adapter in adapter0 "soft0-$guid"; do
        "$TOP_BUILDDIR/test/tools/regd_client" "$BATS_TEST_TMPDIR/clients" "$OPENDAT_REGD_SOCKET" "$adapter" 3>&- &
        clients+=($!)
    done
    for _ in $(seq 600); do
        "$regd" --status --json >"$BATS_TEST_TMPDIR/json" || echo '{"users": []}' >"$BATS_TEST_TMPDIR/json"
        jq -e '.users | length == 1 and .[0].used_entries == 2' "$BATS_TEST_TMPDIR/json" >/dev/null && break
        sleep 0.1
    done
    kill "${clients[@]}"
    cat "$BATS_TEST_TMPDIR/json" "$BATS_TEST_TMPDIR/errors"
    jq -e --arg name "soft0-$guid" '.users[0] | .adapter == $name and .capacity_entries == 65536 and .budget_entries == 65536' \
        "$BATS_TEST_TMPDIR/json"
}

@test "dat_regd --status says so when none answers, and a second one when there is one" {
    run -1 "$regd" --status
    [[ $output == "dat_regd: no dat_regd answers at $OPENDAT_REGD_SOCKET: "* ]]
    start
    run -1 "$regd"
    [[ $output == "dat_regd: cannot listen at $OPENDAT_REGD_SOCKET: another dat_regd listens there" ]]
}

@test "a killed dat_regd's socket is in nobody's way" {
    start
    kill -9 "$daemon"
    wait "$daemon" || true
    [ -S "$OPENDAT_REGD_SOCKET" ]
    start
}

@test "dat_regd refuses what it does not understand" {
    for words in --json '--weight 5' '--weight 5=0' '--weight x=1' '--entries 0' '--entries 65537'; do
        # shellcheck disable=SC2086 # a list of words
        run -2 "$regd" $words
    done
}
