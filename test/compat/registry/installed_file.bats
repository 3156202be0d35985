#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the installation of etc/dat.conf, in a tree of the test's own.

setup() {
    destination=$BATS_TEST_TMPDIR/root
    installed=$destination/somewhere/etc/dat.conf
}

run_make() {
    make -s -C "$TOP_BUILDDIR" "$1" DESTDIR="$destination" sysconfdir=/somewhere/etc MAKEFLAGS=
}

@test "make install puts dat.conf into sysconfdir below DESTDIR, uninstall takes it away" {
    run_make install-dat-conf
    cmp "$TOP_SRCDIR/etc/dat.conf" "$installed"
    run_make uninstall-dat-conf
    [ ! -e "$installed" ]
}

@test "make install and uninstall leave an administrator's dat.conf as it is" {
    mkdir -p "${installed%/*}"
    echo '# mine' >"$installed"
    run_make install-dat-conf
    run_make uninstall-dat-conf
    [ "$(cat "$installed")" = '# mine' ]
}
