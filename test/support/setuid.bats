#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests what a process with more rights than its user obeys: a set-group-ID program runs with every
# setting set.

setup() {
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
    unset OPENDAT_CONFIG
    program=$BATS_TEST_TMPDIR/print_settings
    [ "$(id -u)" -eq 0 ] || skip 'only root can make a set-group-ID program of another group'
    cp "$TOP_BUILDDIR/test/support/print_settings" "$program"
    chgrp 65534 "$program"
    chmod 2755 "$program"
    # Beside the program, where one without such rights finds it.
    mkdir "$BATS_TEST_TMPDIR/opendat"
    cp "$TOP_BUILDDIR/.libs/libopendat-yaml.so" "$BATS_TEST_TMPDIR/opendat"
    ordinary=$BATS_TEST_TMPDIR/ordinary
    cp "$TOP_BUILDDIR/test/support/print_settings" "$ordinary"
    mapfile -t everything < <("$program" names)
    [ "${#everything[@]}" -gt 40 ]
}

in_environment() { env "${everything[@]}" "OPENDAT_CONFIG=$1" "${@:2}"; }
# The loader drops this variable for such programs, which shows from outside whether this is one.
is_privileged() { [ -z "$(LD_SHOW_AUXV=1 "$program" nothing)" ]; }

@test "every setting that names a file is ignored in a set-uid program, and every other one is obeyed" {
    is_privileged || skip 'this file system gives programs no rights'
    in_environment /nonexistent "$program" sources >"$BATS_TEST_TMPDIR/out"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/out")" = "${#everything[@]}" ]
    while read -r name obeyed where; do
        case $obeyed in
            obeyed) [ "$where" = environment ] ;;
            ignored) [ "$where" = default ] ;;
        esac || { echo "$name is $obeyed, and its value comes from $where"; return 1; }
    done <"$BATS_TEST_TMPDIR/out"
    grep -q '^OPENDAT_LOG_FILE ignored default$' "$BATS_TEST_TMPDIR/out"
    # The same program without the rights obeys all of them.
    in_environment /nonexistent "$ordinary" sources | while read -r name obeyed where; do
        [ "$where" = environment ] || { echo "$name comes from $where"; exit 1; }
    done
}

@test "a set-uid program reads neither the file of OPENDAT_CONFIG nor the user's, and says so" {
    is_privileged || skip 'this file system gives programs no rights'
    mkdir -p "$XDG_CONFIG_HOME/opendat"
    printf 'settings: {DAPL_IB_SL: 3}\n' | tee "$XDG_CONFIG_HOME/opendat/opendat.yaml" >"$BATS_TEST_TMPDIR/named.yaml"
    export OPENDAT_CONFIG=$BATS_TEST_TMPDIR/named.yaml
    "$ordinary" sources | grep -q "^DAPL_IB_SL obeyed $OPENDAT_CONFIG:1$"
    "$program" sources | grep -q '^DAPL_IB_SL obeyed default$'
    "$program" unused | grep -q "^$OPENDAT_CONFIG file-not-read$"
    "$program" unused | grep -q '^OPENDAT_CONFIG set-uid$'
    unset OPENDAT_CONFIG
    "$ordinary" sources | grep -q "^DAPL_IB_SL obeyed $XDG_CONFIG_HOME/opendat/opendat.yaml:1$"
    "$program" sources | grep -q '^DAPL_IB_SL obeyed default$'
}

@test "a set-uid program takes the module that reads YAML from no place beside itself" {
    is_privileged || skip 'this file system gives programs no rights'
    directory=$(sed -n 's/^libdir *= *//p' "$TOP_BUILDDIR/Makefile")
    prefix=$(sed -n 's/^prefix *= *//p' "$TOP_BUILDDIR/Makefile")
    directory=${directory/'${exec_prefix}'/$prefix}
    [ ! -e "$directory/opendat/libopendat-yaml.so" ] || skip 'the module is installed where it is looked for'
    [ "$("$ordinary" module)" = found ]
    [ "$("$program" module)" = none ]
}
