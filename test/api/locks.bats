#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Nothing is allocated or freed under a mutex that registering memory takes:
# test/support/lock_watch.cpp watches the test programs.

setup() {
    cd "$TOP_BUILDDIR"
    case $(nm -D .libs/libdaplsoft.so.2) in
        *__asan_init* | *__tsan_init*) skip "the sanitizer's malloc is the program's" ;;
    esac
}

# Turns a line of addresses into the places in our sources, innermost first. The mutex is locked at
# the first; the others are the callers of the allocation.
places() {
    local address
    for address in $1; do
        addr2line -iCe "${address%+*}" "${address##*+}"
    done | sed -nE 's#^.*/((broker|check|dapl|dat|providers)/[^ ]*:[0-9]+).*#\1#p' | grep -v 'support/mutex.hpp' | tr '\n' ' '
}

# usage: watches PROGRAM... - none of them allocates or frees under such a mutex.
watches() {
    local program site line failed=0
    for program in "$@"; do
        LOCK_WATCH="$BATS_TEST_TMPDIR/$program" LD_PRELOAD="$PWD/test/support/.libs/lock_watch.so" \
            "test/api/$program" >"$BATS_TEST_TMPDIR/$program.log" 2>&1 || {
            cat "$BATS_TEST_TMPDIR/$program.log"
            return 1
        }
    done
    [ -n "$(find "$BATS_TEST_TMPDIR" -name '*_test.watched')" ] # it has seen mutexes
    cat "$BATS_TEST_TMPDIR"/*_test.[0-9]* >"$BATS_TEST_TMPDIR/all" || true
    while read -r site; do
        line=$(grep -m 1 -F "$site " "$BATS_TEST_TMPDIR/all")
        echo "locked at, allocates at: $(places "$line")"
        failed=1
    done < <(awk '{ print $1 }' "$BATS_TEST_TMPDIR/all" | sort -u)
    [ "$failed" -eq 0 ]
}

@test "no call allocates or frees under a mutex that registering memory takes" {
    watches cno_test memory_test registration_cache_test rmr_test transfer_test
}

@test "nor does one with the registration broker" {
    export OPENDAT_REGISTRATIONS=on OPENDAT_REGISTRATION_DIRECTORY=$BATS_TEST_TMPDIR/tables
    watches memory_test registration_cache_test rmr_test transfer_test
    [ -d "$OPENDAT_REGISTRATION_DIRECTORY" ]
}

@test "nor does one with the checks of programs" {
    export OPENDAT_CHECK=on
    watches memory_test registration_cache_test rmr_test transfer_test
    grep -q 'DAT4' "$BATS_TEST_TMPDIR"/*.log # the checks were on
}
