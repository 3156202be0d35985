#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the distribution as someone who has nothing else uses it. It is made from a copy of the
# sources, so that the build directory stays as it is.
load ../compat/helpers

# Runs once for all tests of this file: `make dist` in a copy without .git, where git is a program
# that fails.
setup_file() {
    export work=$BATS_FILE_TMPDIR
    mkdir "$work/tools" "$work/copy"
    printf '#!/bin/sh\necho "git $*" >>"%s/asked"\nexit 127\n' "$work" >"$work/tools/git"
    chmod +x "$work/tools/git"
    (cd "$TOP_SRCDIR" && tar --exclude=./.git --exclude=./build --exclude="./${TOP_BUILDDIR##*/}" -c .) | tar -x -C "$work/copy"
    mkdir "$work/copy/made"
    # Without optimisation, because the tests only check that everything is there.
    export unoptimised='CFLAGS=-O0 CXXFLAGS=-O0'
    # shellcheck disable=SC2086 # a list of words
    in_copy ../configure --quiet $unoptimised && in_copy make dist
}

setup() {
    cd "$work" || return
    version=$(sed -n 's/^VERSION *= *//p' "$TOP_BUILDDIR/Makefile")
    tarball=$work/copy/made/opendat-$version.tar.xz
}
teardown() { stop_all; }

# usage: in_copy COMMAND... - runs it there, on all processors; shows its output if it fails.
in_copy() {
    (cd "${directory:-$work/copy/made}" && env -u DESTDIR PATH="$work/tools:$PATH" MAKEFLAGS="-j$(nproc)" "$@") >"$work/said" 2>&1 3>&- ||
        { echo "$*:"; tail -n 60 "$work/said"; return 1; }
}

@test "make dist asks git nothing, and gives what git tracks" {
    [ ! -e asked ] || { cat asked; false; }
    tar -tf "$tarball" | grep -v '/$' | cut -d / -f 2- | sort >given
    made='^(Makefile\.in|aclocal\.m4|config\.h\.in|configure|build-aux/[^/]+|m4/l[^/]+\.m4)$'
    [ -z "$(git -C "$TOP_SRCDIR" rev-parse --show-prefix 2>/dev/null || echo none)" ] || skip "the rest: the sources are no checkout of git"
    sed '/^#/d; s/\t.*//' "$TOP_SRCDIR/test/packages/undistributed" | sort >left_out
    diff <(git -C "$TOP_SRCDIR" ls-files | sort | comm -23 - left_out) <(grep -vE "$made" given)
}

@test "the distribution configures, makes and installs without autoconf and git, and dtest runs from there" {
    mkdir unpacked
    tar --strip-components=1 -xf "$tarball" -C unpacked
    # shellcheck disable=SC2086 # a list of words
    directory=$work/unpacked in_copy ./configure --quiet AUTOCONF=false AUTOMAKE=false ACLOCAL=false --prefix=/usr $unoptimised
    directory=$work/unpacked in_copy make
    directory=$work/unpacked in_copy make "DESTDIR=$work/root" install
    [ ! -e asked ] || { cat asked; false; }
    start_network
    mkdir "$BATS_TEST_TMPDIR/work"
    run_to_end demo env -u LD_LIBRARY_PATH "TMPDIR=$BATS_TEST_TMPDIR/work" "DAT_OVERRIDE=$work/root/usr/etc/dat.conf" \
        sh unpacked/test/dtest/demo "$work/root/usr" -b 1000 -B 20
    grep -q '^demo: PASSED: ' "$BATS_TEST_TMPDIR/demo.out"
    is_silent demo
}

@test "make distcheck passes: read-only sources, tests, install, uninstall, distclean" {
    in_copy make distcheck "DISTCHECK_CONFIGURE_FLAGS=$unoptimised"
    grep -q 'archives ready for distribution' said
    grep -q '^PASS: test/packages/lists.bats' said
    never grep -E '^(FAIL|ERROR|XPASS):' said
}
