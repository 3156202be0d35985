#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Programs whose malloc() registers memory and whose free() deregisters it
# (test/support/registration_cache.cpp) end as they do without that: no thread waits for a lock
# under which it allocates itself. Tests that look at handles of freed regions are left out, because
# the cache's regions get these handles.

load ../support/time

setup() {
    cd "$TOP_BUILDDIR"
    case $(nm -D .libs/libdaplsoft.so.2) in
        *__asan_init* | *__tsan_init*) skip "the sanitizer's malloc is the program's" ;;
    esac
    cache=$PWD/test/support/.libs/registration_cache.so
    counts=$BATS_TEST_TMPDIR/counts
    mkdir -m 700 "$BATS_TEST_TMPDIR/fabric"
}

# usage: cached PROGRAM ARGUMENTS... - runs it with a time limit, because a deadlock lasts for ever.
cached() {
    timeout "$(scaled 120)" env "REGISTRATION_CACHE=$counts" "LD_PRELOAD=$cache${preload:+:$preload}" "$@"
}

# usage: cached_test NAME - runs a test program of the API and, if it hangs, shows its stacks.
cached_test() {
    "$TOP_SRCDIR/test/support/watch" env "REGISTRATION_CACHE=$counts" "LD_PRELOAD=$cache" "test/api/$1_test" >"$BATS_TEST_TMPDIR/log" 2>&1 &&
        ! grep -q '^not ok' "$BATS_TEST_TMPDIR/log" || {
        echo "$1:"
        grep -vE '^ok|^# (test|took) ' "$BATS_TEST_TMPDIR/log"
        return 1
    }
}

expect_work() {
    awk '{ registered += $1; deregistered += $2 } END { exit !(registered > 1000 && deregistered > registered * 0.9) }' "$counts"
}

@test "programs with a registration cache use every kind of object and end" {
    local program
    for program in addresses broken cno completion_flags connection connection_codes delayed_ack disconnect endpoint evd \
        extension rmr scm service_points srq threads transfer ud; do
        cached_test $program || return 1
    done
    expect_work
}

@test "a program with a registration cache transfers by the agent, and is woken, and ends" {
    for program in transfer wake_up; do
        SOFTVERBS_COPY=agent cached_test $program || return 1
    done
    expect_work
}

@test "programs with a registration cache end where the registration broker takes its regions away" {
    export OPENDAT_REGISTRATION_ENTRIES=80 OPENDAT_REGISTRATION_WAIT=10000 OPENDAT_REGISTRATION_GRACE=100
    for mode in transparent per-io; do
        export OPENDAT_REGISTRATIONS=$mode OPENDAT_REGISTRATION_DIRECTORY=$BATS_TEST_TMPDIR/$mode
        cached_test transfer
    done
    expect_work
}

# usage: pair COMMAND... - runs a server, and a client as soon as the server accepts connections.
pair() {
    local server
    cached "$@" >"$BATS_TEST_TMPDIR/server" 2>&1 &
    server=$!
    local tries
    for tries in $(seq 200); do
        cached "$@" 127.0.0.1 >"$BATS_TEST_TMPDIR/client" 2>&1 && break
        grep -qi "couldn.t connect\|connection refused" "$BATS_TEST_TMPDIR/client" || break
        sleep 0.05
    done
    wait "$server" || {
        echo "$*: status $?, after $tries tries"
        cat "$BATS_TEST_TMPDIR/server" "$BATS_TEST_TMPDIR/client"
        return 1
    }
}

@test "verbs programs with a registration cache send, write and count on libsoftverbs, and end" {
    local program
    for program in ib_send_bw ib_write_bw ib_atomic_lat ibv_rc_pingpong ibv_ud_pingpong ibv_srq_pingpong; do
        command -v $program >/dev/null || skip "$program is not installed"
    done
    export SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric
    preload=$PWD/.libs/libsoftverbs.so
    pair ib_send_bw -p 18931 -s 8 -n 5000
    pair ib_write_bw -p 18932 -a -n 200
    pair ib_atomic_lat -p 18933 -n 2000
    pair ibv_rc_pingpong -p 18934 -e -n 2000
    pair ibv_ud_pingpong -p 18935 -n 500
    pair ibv_srq_pingpong -p 18936 -n 1000
    expect_work
}
