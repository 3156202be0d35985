#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests opendat.yaml as programs use it: with the built libraries, which load the module that reads
# it.
bats_require_minimum_version 1.5.0
load ../support/time

setup() {
    libraries=$TOP_BUILDDIR/.libs
    export LD_LIBRARY_PATH=$libraries XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric
    unset DAT_OVERRIDE
    mkdir -p "$XDG_CONFIG_HOME/opendat"
    mkdir -m 700 "$SOFTVERBS_FABRIC"
    told=$BATS_TEST_TMPDIR/told
    user_file=$XDG_CONFIG_HOME/opendat/opendat.yaml
}

# usage: open_ia NAME - prints the code of dat_ia_open; messages go to $told.
open_ia() {
    timeout "$(scaled 120)" "$TOP_BUILDDIR/test/compat/.libs/open_ia" "$@" 2>"$told"
}
opens() { [[ $(open_ia "$@") == 'ia_open: 0x00000000'* ]] || { cat "$told"; return 1; }; }
is_silent() { [ ! -s "$told" ] || { cat "$told"; return 1; }; }
tells() { grep -qF -- "$1" "$told" || { cat "$told"; return 1; }; }
never() { if "$@"; then echo "succeeded: $*"; return 1; fi; }

# usage: soft_entry NAME - prints an entry of `ias` for the software device.
soft_entry() { printf '  - ia_name: %s\n    lib_path: %s/libdaplsoft.so.2\n    ia_params: soft0 1\n' "$1" "$libraries"; }

@test "an IA of the user's opendat.yaml opens beside those of dat.conf" {
    { echo ias:; soft_entry mine; } >"$user_file"
    opens mine
    is_silent
}

@test "an IA of the file that OPENDAT_CONFIG names opens" {
    { echo ias:; soft_entry named; } >"$BATS_TEST_TMPDIR/named.yaml"
    OPENDAT_CONFIG=$BATS_TEST_TMPDIR/named.yaml opens named
    is_silent
}

@test "records of one name are tried in order of force: a library that is missing leaves the next file's" {
    { echo ias:; soft_entry both; } >"$user_file"
    printf 'ias:\n  - {ia_name: both, lib_path: /nonexistent/provider.so}\n' >"$BATS_TEST_TMPDIR/named.yaml"
    OPENDAT_CONFIG=$BATS_TEST_TMPDIR/named.yaml DAT_TRACE_LEVEL=5 opens both
    tells "($user_file:2)"
}

@test "dat_ia_open names file and line of an entry whose library cannot be loaded" {
    printf 'ias:\n  - ia_name: broken\n    lib_path: /nonexistent/provider.so\n' >"$user_file"
    never opens broken
    tells "$user_file:2: /nonexistent/provider.so"
}

@test "a bad field of an entry is told with line, column and what is accepted, and the other entries open" {
    { echo ias:; soft_entry good; printf '  - ia_name: bad\n    lib_path: x\n    api_version: two\n'; } >"$user_file"
    opens good
    tells "$user_file:7:18: api_version of bad is 'two', expected 'u' or 'k', digits, '.', digits, such as u2.0"
    [ "$(wc -l <"$told")" = 1 ]
}

@test "an unknown field of an entry is told with the nearest name" {
    printf 'ias:\n  - ia_name: bad\n    libpath: x\n' >"$user_file"
    never opens bad
    tells "$user_file:3:5: 'libpath' is an unknown field of an IA; did you mean lib_path?"
}

@test "what is wrong with a file is told once, although libdat2 and the provider both read it" {
    { echo ias:; soft_entry one; printf 'settings:\n  OPENDAT_LOGG: x\n'; } >"$user_file"
    opens one
    [ "$(grep -c "is an unknown setting; did you mean OPENDAT_LOG?" "$told")" = 1 ]
    [ "$(wc -l <"$told")" = 1 ]
}

@test "a file that is not YAML stops nothing that dat.conf alone can do" {
    printf 'settings: [\n' >"$user_file"
    printf 'soft0 u2.0 nonthreadsafe default %s/libdaplsoft.so.2 dapl.2.0 "soft0 0" ""\n' "$libraries" >"$BATS_TEST_TMPDIR/dat.conf"
    DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf opens soft0
    tells "not valid YAML"
    [ "$(wc -l <"$told")" = 1 ]
}

@test "where DAT_OVERRIDE names the records, IAs of opendat.yaml are not offered and its settings hold" {
    { echo ias:; soft_entry extra; printf 'trace: {level: 5}\n'; } >"$user_file"
    printf 'soft0 u2.0 nonthreadsafe default %s/libdaplsoft.so.2 dapl.2.0 "soft0 0" ""\n' "$libraries" >"$BATS_TEST_TMPDIR/dat.conf"
    export DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf
    opens soft0
    tells 'IA soft0 uses device soft0'
    never opens extra
}

@test "the provider obeys settings of the file, and an IA those of its own" {
    {
        echo ias:; soft_entry own; printf '    settings: {DAPL_SCM_BIND_ADDRESS: 127.0.0.9}\n'; soft_entry other
    } | sed 's/libdaplsoft/libdaploscm/' >"$user_file"
    printf 'softverbs:\n  address: 127.0.0.7\n' >>"$user_file"
    cat >>"$user_file" <<'END'
trace:
  level: 5
END
    export LD_PRELOAD=$libraries/libsoftverbs.so
    opens own
    tells 'IA own listens at 127.0.0.9'
    opens other
    never tells 'listens at 127.0.0.9'
}

@test "the libraries without a file load no YAML module, with one they load it and let go of it" {
    { echo ias:; soft_entry mine; } >"$user_file"
    LD_DEBUG=files LD_DEBUG_OUTPUT=$BATS_TEST_TMPDIR/with open_ia mine >/dev/null
    cat "$BATS_TEST_TMPDIR"/with.* | grep -q 'libopendat-yaml'
    cat "$BATS_TEST_TMPDIR"/with.* | grep 'calling fini' | grep -q 'libopendat-yaml'
    rm "$user_file"
    printf 'mine u2.0 nonthreadsafe default %s/libdaplsoft.so.2 dapl.2.0 "soft0 0" ""\n' "$libraries" >"$BATS_TEST_TMPDIR/dat.conf"
    LD_DEBUG=files LD_DEBUG_OUTPUT=$BATS_TEST_TMPDIR/without DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf open_ia mine >/dev/null
    cat "$BATS_TEST_TMPDIR"/without.* | grep -q 'libdaplsoft'
    ! cat "$BATS_TEST_TMPDIR"/without.* | grep -q yaml
}

@test "libdat2 and the provider go when they are closed, although they have read a file" {
    { echo ias:; soft_entry ia; printf 'settings: {DAPL_IB_SL: 3}\n'; } >"$user_file"
    run -0 --separate-stderr "$TOP_BUILDDIR/test/compat/unload" --open ia "$libraries/libdat2.so.2" "$libraries/libdaplsoft.so.2"
    [ -z "$stderr" ]
}

@test "dat_info --explain names the line of opendat.yaml that an IA and a setting come from" {
    { echo ias:; soft_entry mine; printf 'softverbs:\n  copy: agent\n'; } >"$user_file"
    "$TOP_BUILDDIR/dat_info" --explain mine >"$BATS_TEST_TMPDIR/out"
    grep -A 1 "^record .*$user_file:2: mine " "$BATS_TEST_TMPDIR/out" | grep -q '^ *used' || { cat "$BATS_TEST_TMPDIR/out"; return 1; }
    grep -q "^copy .*$user_file:6" "$BATS_TEST_TMPDIR/out" || { cat "$BATS_TEST_TMPDIR/out"; return 1; }
}

@test "dat_info --settings shows a value with file and line, and what was set and is not used" {
    printf 'settings:\n  DAPL_IB_SL: 3\n  DAPL_ACK_RETRY: 5\n' >"$user_file"
    DAPL_ACK_RETRY=6 "$TOP_BUILDDIR/dat_info" --settings --json >"$BATS_TEST_TMPDIR/out"
    grep -q "$user_file:2" "$BATS_TEST_TMPDIR/out"
    grep -q 'environment overrides it (6)' "$BATS_TEST_TMPDIR/out" || { cat "$BATS_TEST_TMPDIR/out"; return 1; }
}

@test "a program that only happens to be linked with libdat2 is not told of a bad file" {
    printf 'settings: [\n' >"$user_file"
    run -0 --separate-stderr "$TOP_BUILDDIR/test/compat/unload" "$libraries/libdat2.so.2"
    [ -z "$stderr" ]
}

@test "misspelt variables with the reference's prefixes are told once each, with the nearest setting, although two libraries read the environment" {
    { echo ias:; soft_entry mine; } >"$user_file"
    DAT_OVERIDE=x DAPL_ACK_TIMERS=20 DAPL_UCM_RETRY=3 DAT_HOME=/tmp opens mine
    tells 'unknown setting in the environment: DAT_OVERIDE; did you mean DAT_OVERRIDE? [DAT901]'
    tells 'unknown setting in the environment: DAPL_ACK_TIMERS; did you mean DAPL_ACK_TIMER? [DAT901]'
    [ "$(wc -l <"$told")" = 2 ]
}
