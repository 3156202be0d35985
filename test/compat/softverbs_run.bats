#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests how softverbs(1) starts foreign programs on the device.
load helpers

setup() { start_network; }
teardown() { stop_all; }

tool=$TOP_BUILDDIR/softverbs

# usage: fails_with STATUS COMMAND... - the command must end with STATUS and give the reason on
# standard error alone; the reason is in $said.
fails_with() {
    local wanted=$1 status=0
    shift
    said=$("$@" 2>&1 >"$BATS_TEST_TMPDIR/stdout") || status=$?
    [ "$status" -eq "$wanted" ] || { echo "status $status instead of $wanted: $*: $said"; return 1; }
    [ -n "$said" ] || { echo "nothing was said: $*"; return 1; }
    [ ! -s "$BATS_TEST_TMPDIR/stdout" ] || { echo "on standard output:"; cat "$BATS_TEST_TMPDIR/stdout"; return 1; }
}

@test "softverbs run: ibv_devices lists soft0" {
    need_program ibv_devices
    run_to_end devices "$tool" run ibv_devices
    has devices '^ +soft0[[:space:]]+[0-9a-f]{16}$'
    is_silent devices
}

@test "softverbs run: the program gets its arguments, its input and its exit status through" {
    run "$tool" run sh -c 'echo "$1,$2"; cat; exit 7' sh --help "two words" <<<"typed"
    [ "$status" -eq 7 ]
    [ "$output" = $'--help,two words\ntyped' ]
}

@test "softverbs run --fabric: another fabric, from whatever directory the program works in" {
    need_program ibv_devinfo
    mkdir -m 700 "$BATS_TEST_TMPDIR/second"
    run_to_end first "$tool" run ibv_devinfo -v
    cd "$BATS_TEST_TMPDIR"
    run_to_end second "$tool" run --fabric second sh -c 'cd / && exec ibv_devinfo -v'
    run_to_end again env SOFTVERBS_FABRIC="$BATS_TEST_TMPDIR/second" "$tool" run ibv_devinfo -v
    never diff "$BATS_TEST_TMPDIR/first.out" "$BATS_TEST_TMPDIR/second.out"
    diff "$BATS_TEST_TMPDIR/second.out" "$BATS_TEST_TMPDIR/again.out"
    is_silent first second again
}

@test "softverbs run: what was preloaded before stays, and the library is named once" {
    preloaded=$(LD_PRELOAD=libm.so.6 "$tool" run "$tool" run sh -c 'echo "$LD_PRELOAD"')
    [ "$preloaded" = "$softverbs:libm.so.6" ] || { echo "$preloaded"; false; }
}

@test "softverbs run: no program is 125, none of that name 127, one that cannot be executed 126" {
    fails_with 125 "$tool" run
    [[ $said == *"no program"* ]]
    fails_with 127 "$tool" run no-such-program
    [[ $said == *"no-such-program: No such file or directory"* ]]
    fails_with 126 "$tool" run "$TOP_SRCDIR/README.md"
    [[ $said == *"README.md: Permission denied"* ]]
}

@test "softverbs run: wrong options are 125 and start nothing" {
    fails_with 125 "$tool" run --nosuch touch "$BATS_TEST_TMPDIR/started"
    fails_with 125 "$tool" run --cm ours touch "$BATS_TEST_TMPDIR/started"
    [[ $said == *"'ours'"* ]]
    fails_with 125 "$tool" run --fabric "" touch "$BATS_TEST_TMPDIR/started"
    fails_with 2 "$tool" nosuch
    fails_with 2 "$tool"
    [ ! -e "$BATS_TEST_TMPDIR/started" ]
}

@test "softverbs run --fabric: a directory that others may enter, or that is a link, is refused before the program starts" {
    mkdir -m 755 "$BATS_TEST_TMPDIR/open"
    fails_with 125 "$tool" run --fabric "$BATS_TEST_TMPDIR/open" touch "$BATS_TEST_TMPDIR/started"
    [[ $said == *"other users have access to it"* ]]
    ln -s "$fabric" "$BATS_TEST_TMPDIR/link"
    fails_with 125 "$tool" run --fabric "$BATS_TEST_TMPDIR/link" touch "$BATS_TEST_TMPDIR/started"
    [[ $said == *"it is a link"* ]]
    if [ "$EUID" = 0 ] && [ "${#enter_network[@]}" -lt 5 ]; then
        mkdir -m 700 "$BATS_TEST_TMPDIR/theirs"
        chown 65534 "$BATS_TEST_TMPDIR/theirs"
        fails_with 125 "$tool" run --fabric "$BATS_TEST_TMPDIR/theirs" touch "$BATS_TEST_TMPDIR/started"
        [[ $said == *"belongs to user 65534"* ]]
    fi
    [ ! -e "$BATS_TEST_TMPDIR/started" ]
}

@test "softverbs run --fabric: a directory deeper than a socket's 108 bytes joins programs as any other" {
    need_program ibv_rc_pingpong
    deep=$BATS_TEST_TMPDIR/$(printf 'd%.0s' {1..120})
    mkdir -p "$deep"
    start server "$tool" run --fabric "$deep/fabric" ibv_rc_pingpong -n 10
    await_port server 18515
    run_to_end client "$tool" run --fabric "$deep/fabric" ibv_rc_pingpong -n 10 127.0.0.1
    await_end server
    has client '10 iters in'
    is_silent server client
}

@test "the device's node answers stat and access to programs that look for it, and no other path is touched" {
    need_program perl
    node=/dev/infiniband/softverbs0
    "$tool" run perl -e 'use strict;
        my @found = stat $ARGV[0] or die "stat: $!";
        die "no character device" unless -c _;
        require POSIX;
        POSIX::access($ARGV[0], POSIX::R_OK() | POSIX::W_OK()) or die "access: $!";
        die "may be executed" if POSIX::access($ARGV[0], POSIX::X_OK());
        die "another node is there" if -e "$ARGV[0]1" or -e "/dev/infiniband/uverbs9";
        die "stat of a file differs" unless join(",", stat $ARGV[1]) eq $ARGV[2];' \
        "$node" "$TOP_SRCDIR/README.md" \
        "$(perl -e 'print join(",", stat $ARGV[0])' "$TOP_SRCDIR/README.md")"
    [ -e "$node" ] || never perl -e 'exit !-e $ARGV[0]' "$node"
}

@test "ucx_info -d lists soft0 with rc_verbs" {
    need_program ucx_info
    run_to_end info "$tool" run ucx_info -d
    has info '^# +Transport: rc_verbs$'
    has info '^# +Device: soft0:1$'
}
