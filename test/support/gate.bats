#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests .ci/run on a checkout in which one test is planted: what fails the run and under which name,
# and what does not. The planted program is the only test there.

setup_file() {
    export checkout=$BATS_FILE_TMPDIR/checkout
    git -C "$TOP_SRCDIR" rev-parse HEAD >/dev/null 2>&1 || skip "the sources are no git checkout"
    git clone -q "$TOP_SRCDIR" "$checkout"
    cat >"$checkout/test/support/planted_test.cpp" <<'END'
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

TEST(Planted, is_before_it) {}
TEST(Planted, does_as_it_is_told) {
    const std::string fault = getenv("PLANTED");
    if (fault == "assertion") FAIL() << "planted";
    if (fault == "hang") pause();
    if (fault == "crash") raise(SIGSEGV);
    if (fault == "once" && access("planted.once", F_OK) != 0) {
        ASSERT_EQ(symlink("/", "planted.once"), 0);
        FAIL() << "planted";
    }
}
TEST(Planted, is_behind_it) {}
END
    cat >>"$checkout/test/support/local.mk" <<'END'
check_PROGRAMS += test/support/planted_test
TESTS += test/support/planted_test
test_support_planted_test_SOURCES = %reldir%/planted_test.cpp
test_support_planted_test_LDADD = libtestmain.la
END
}

# usage: ci_run FAULT [STEP]... - runs it; status and output are where `run` leaves them.
ci_run() {
    local planted=test/support/planted_test fault=$1
    shift
    # The watchdog gets a short limit. What make hands down from the run that this test belongs to
    # must not reach .ci/run.
    run env -u MAKELEVEL -u MFLAGS -u TEST_SCALE -u TOP_BUILDDIR -u TOP_SRCDIR -u CC -u CXX PLANTED="$fault" TEST_TIME_SCALE=0.05 \
        MAKEFLAGS="TESTS=$planted check_PROGRAMS=$planted check_LTLIBRARIES=libtestmain.la check_DATA=" \
        bash "$checkout/.ci/run" "${@:-check}" 3>&-
    echo "$output" | tail -n 60
}

has() { # EXTENDED_EXPRESSION... - lines like these are in the output
    local wanted
    for wanted in "$@"; do
        grep -qE -e "$wanted" <<<"$output" || { echo "no line: $wanted"; return 1; }
    done
}

@test "an assertion that fails twice fails the run, by its test's name" {
    ci_run assertion
    [ "$status" = 1 ]
    has '^failed: .*planted_test: Planted\.does_as_it_is_told' '^2 passed, 1 failed, 0 skipped$'
}

@test "a hang fails the run by its test's name, with stacks, and so do the tests behind it" {
    ci_run hang
    [ "$status" = 1 ]
    has '^failed: .*planted_test: Planted\.does_as_it_is_told # timed out' '^failed: .*planted_test: Planted\.is_behind_it # not run' \
        '^# .*pause' '^1 passed, 2 failed, 0 skipped$'
}

@test "a crash in the middle of a program fails the run by its test's name, and so do the tests behind it" {
    ci_run crash
    [ "$status" = 1 ]
    has '^failed: .*planted_test: Planted\.does_as_it_is_told # ended by SIGSEGV' '^failed: .*planted_test: Planted\.is_behind_it # not run' \
        '^1 passed, 2 failed, 0 skipped$'
}

@test "a test that fails the first time only passes as flaky, with its first log" {
    ci_run once
    [ "$status" = 0 ]
    has '^flaky: .*planted_test: Planted\.does_as_it_is_told' '^3 passed, 0 failed, 0 skipped$'
    grep -q '^not ok 2 - Planted.does_as_it_is_told' "$checkout/build/test/support/planted_test.first.log"
}

@test "a step that the clock cuts off is skipped by its name, and one without time is not begun" {
    export CI_SECONDS=340
    ci_run nothing address thread
    [ "$status" = 0 ]
    has '^== not run: .*check-address.*: cut off after' '^== not run: .*check-thread.*: -?[0-9]+ s are left' '^3 passed, 0 failed, 2 skipped$'
}
