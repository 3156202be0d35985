#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests what softverbs(1) shows of a fabric while programs use it, and what it removes.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() { start_network; }
teardown() { stop_all; }

# usage: field EXPRESSION - prints its value for the JSON on standard input, as Perl reads it into
# $_.
field() {
    perl -MJSON::PP -e 'local $/; $_ = decode_json(<STDIN>); my $found = eval $ARGV[0]; die $@ if $@; print "$found\n"' "$1"
}

# Starts a pair that runs until it is ended.
start_pair() {
    need_program ibv_rc_pingpong
    start server "$tool" run ibv_rc_pingpong -n 1000000000 "$@"
    await_port server 18515
    start client "$tool" run ibv_rc_pingpong -n 1000000000 "$@" 127.0.0.1
}

pid_of() {
    pgrep -n -P "${process_of[$1]}" ibv_rc_pingpong
}

# Prints how many receives the queue pairs of both sides have consumed so far.
taken() {
    "$tool" ls --json | field 'my $n = 0; $n += $_->{receives_taken} for map { @{$_->{queue_pairs}} } @{$_->{processes}}; $n'
}

# usage: whole_list [--json] - succeeds if no process was too busy to answer in time; the list is in
# ls.out.
whole_list() {
    "$tool" ls "$@" >"$BATS_TEST_TMPDIR/ls.out" 2>"$BATS_TEST_TMPDIR/ls.err" &&
        ! grep -qE 'does not answer|"silent"' "$BATS_TEST_TMPDIR/ls.out"
}

@test "softverbs ls: an empty fabric, and none at all, have no processes" {
    run_to_end empty "$tool" ls
    prints empty <<<"fabric $fabric: 0 processes"
    run_to_end none "$tool" ls --fabric "$fabric/nosuch"
    prints none <<<"fabric $fabric/nosuch: 0 processes"
    [ ! -e "$fabric/nosuch" ]
    [ -z "$(ls -A "$fabric")" ]
    is_silent empty none
}

@test "softverbs ls: processes, their queue pairs with state and destination, completion queues and regions" {
    start_pair -s 4096
    eventually ready_pairs
    eventually whole_list
    has ls "^fabric $fabric: 2 processes$"
    has ls "^process $(pid_of server) \(ibv_rc_pingpong\): member [0-9]+, address 127\.0\.0\.1$"
    has ls "^process $(pid_of client) \(ibv_rc_pingpong\): member [0-9]+, address 127\.0\.0\.1$"
    [ "$(grep -cE '^  queue pair 0x[0-9a-f]{6}: [A-Za-z]+, ready, soft0 port 1, to 0x[0-9a-f]{6}, receive CQ 0, [0-9]+ receives consumed$' \
        "$BATS_TEST_TMPDIR/ls.out")" -eq 2 ]
    [ "$(grep -cE '^  completion queue 0: [0-9]+ entries$' "$BATS_TEST_TMPDIR/ls.out")" -eq 2 ]
    [ "$(grep -cE '^  region 0x[0-9a-f]{8}: 4096 bytes at 0x[0-9a-f]+, PD 1, path (P|S|S for [0-9]+ bytes, else P) \([^)]+\), local-write$' \
        "$BATS_TEST_TMPDIR/ls.out")" -eq 2 ]
    is_silent ls
}

ready_pairs() {
    [ "$("$tool" ls | grep -c ': [A-Za-z]*, ready, .*to 0x')" -eq 2 ]
}

@test "softverbs ls --json: the documented names, and two queue pairs that name each other" {
    need_program perl
    start_pair
    eventually ready_pairs
    eventually whole_list --json
    cp "$BATS_TEST_TMPDIR/ls.out" "$BATS_TEST_TMPDIR/ls.json"
    [ "$(field '"$_->{schema} $_->{version} $_->{fabric} " . @{$_->{processes}}' <"$BATS_TEST_TMPDIR/ls.json")" \
        = "softverbs-ls 1 $fabric 2" ]
    [ "$(field 'join " ", map { $_->{answer} } @{$_->{processes}}' <"$BATS_TEST_TMPDIR/ls.json")" = "shown shown" ]
    [ "$(field 'my ($a, $b) = map { $_->{queue_pairs}[0] } @{$_->{processes}};
        $a->{number} == $b->{destination} && $b->{number} == $a->{destination} ? "each other" : "others"' \
        <"$BATS_TEST_TMPDIR/ls.json")" = "each other" ]
    [ "$(field 'join " ", map { $_->{regions}[0]{length} } @{$_->{processes}}' <"$BATS_TEST_TMPDIR/ls.json")" = "4096 4096" ]
}

@test "softverbs ls: whoever is looked at goes on, owns as many blocks of numbers as before, and says nothing" {
    start_pair
    eventually ready_pairs
    blocks=$("$tool" ls --json | field 'join " ", map { @{$_->{qp_blocks}} } @{$_->{processes}}')
    for _ in {1..20}; do "$tool" ls >/dev/null; done
    before=$(taken)
    eventually more_than "$before"
    [ "$("$tool" ls --json | field 'join " ", map { @{$_->{qp_blocks}} } @{$_->{processes}}')" = "$blocks" ]
    is_silent server client
}

more_than() {
    [ "$(taken)" != "$1" ]
}

@test "softverbs ls: a stopped process is shown as one that does not answer, and the others are shown whole" {
    start_pair
    eventually ready_pairs
    stopped=$(pid_of server)
    kill -STOP "$stopped"
    eventually lists_stopped "$stopped"
    kill -CONT "$stopped"
}

lists_stopped() {
    "$tool" ls >"$BATS_TEST_TMPDIR/ls.out"
    grep -qE "^process $1 .*does not answer" "$BATS_TEST_TMPDIR/ls.out" &&
        [ "$(grep -c '^  queue pair' "$BATS_TEST_TMPDIR/ls.out")" -eq 1 ]
}

@test "softverbs ls: a program that returned from main with the device open is not counted among the dead" {
    for when in '' afterwards; do
        run_to_end program "$tool" run "$TOP_BUILDDIR/test/compat/open_at_exit" $when
        has program '^open$'
        run_to_end ls "$tool" ls
        prints ls <<<"fabric $fabric: 0 processes"
        run_to_end clean "$tool" clean --dry-run
        prints clean <<<'nothing to remove'
        is_silent program ls clean
    done
    has program '^destroyed: 0$'
}

@test "softverbs clean: removes what a killed process left, says what, and touches nothing of the living" {
    start_pair
    eventually ready_pairs
    start alone "$tool" run ibv_rc_pingpong -p 18600
    await_port alone 18600
    dead=$(pid_of alone)
    kill -9 "$dead"
    wait "${process_of[alone]}" || true
    unset 'process_of[alone]'
    eventually one_dead_member
    before=$(find "$fabric" | sort)
    run_to_end dry "$tool" clean --dry-run
    has dry '^would remove the record of dead member 2 and its 1 blocks of QP numbers$'
    has dry '^would remove the socket member-2$'
    [ "$(find "$fabric" | sort)" = "$before" ]
    run_to_end clean "$tool" clean
    has clean '^removed the record of dead member 2 and its 1 blocks of QP numbers$'
    has clean '^removed the socket member-2$'
    [ ! -e "$fabric/member-2" ]
    [ -S "$fabric/member-0" ]
    [ -S "$fabric/member-1" ]
    run_to_end again "$tool" clean
    prints again <<<'nothing to remove'
    eventually ready_pairs
    is_silent dry clean again server client
}

one_dead_member() {
    "$tool" ls | grep -qx '1 exited process left files behind: softverbs clean'
}

@test "softverbs clean: files that are not the fabric's own are left alone" {
    run_to_end info "$tool" run ibv_devices
    touch "$fabric/mine" "$fabric/member-x" "$fabric/member-01"
    run_to_end clean "$tool" clean
    prints clean <<<'nothing to remove'
    [ -e "$fabric/mine" ] && [ -e "$fabric/member-x" ] && [ -e "$fabric/member-01" ]
}

@test "softverbs ls and clean: a damaged index, and a directory that others may enter, are refused with the reason" {
    head -c 8192 /dev/urandom >"$fabric/index"
    for command in ls clean; do
        run "$tool" $command
        [ "$status" -eq 1 ]
        [[ $output == *"$fabric/index cannot be used: its contents are damaged"* ]]
    done
    chmod 755 "$fabric"
    run "$tool" ls
    [ "$status" -eq 1 ]
    [[ $output == *"other users have access to it"* ]]
}
