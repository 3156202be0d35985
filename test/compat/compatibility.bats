#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks that what doc/compatibility.md says about symbols, types and foreign programs is true.
# After an intended change, run
# test/compat/compatibility write symbols|types doc/compatibility.md build
# or, for all of it, make compatibility-document.
load helpers

setup() {
    cd "$TOP_SRCDIR" || return
    compatibility=$TOP_SRCDIR/test/compat/compatibility
}

# usage: check PART [BUILD_DIRECTORY]
check() {
    local what
    what=$("$compatibility" needs) || missing "not there: $what"
    # shellcheck disable=SC2086 # a list of words
    "$compatibility" check "$1" doc/compatibility.md "${2:-$TOP_BUILDDIR}" $COMPAT_SCRIPTS
}

# usage: finds PATTERN COMMAND... - expects the command to fail with output that matches.
finds() {
    local pattern=$1
    shift
    if "$@" >"$BATS_TEST_TMPDIR/found"; then echo "nothing found"; return 1; fi
    grep -E "$pattern" "$BATS_TEST_TMPDIR/found"
}

@test "symbol by symbol, our libraries and the reference's are as doc/compatibility.md says, each difference with its reason" {
    check symbols
}

@test "type by type, abidiff finds nothing between the reference's headers and ours but what doc/compatibility.md says" {
    check types
}

@test "the table of foreign programs names every script of test/compat, with all of its tests" {
    # shellcheck disable=SC2086 # a list of words
    "$compatibility" check programs doc/compatibility.md "$TOP_BUILDDIR" $COMPAT_SCRIPTS
}

@test "a library that lacks a symbol is found" {
    what=$("$compatibility" needs) || missing "not there: $what"
    mkdir -p "$BATS_TEST_TMPDIR/build/.libs"
    cp "$TOP_BUILDDIR"/.libs/libdapl*.so.2 "$BATS_TEST_TMPDIR/build/.libs"
    # A map without the first function.
    sed '0,/dat_cno_create;/s/dat_cno_create;//' dat/api/libdat2.map >"$BATS_TEST_TMPDIR/map"
    for name in $(sed -n 's/^ *\(dat[a-z_]*\);$/\1/p' "$BATS_TEST_TMPDIR/map"); do echo "void $name(void) {}"; done >"$BATS_TEST_TMPDIR/lacking.c"
    $CC -shared -fPIC -w -Wl,-soname,libdat2.so.2 "-Wl,--version-script=$BATS_TEST_TMPDIR/map" \
        -o "$BATS_TEST_TMPDIR/build/.libs/libdat2.so.2" "$BATS_TEST_TMPDIR/lacking.c"
    finds 'differs without a reason: .*`dat_cno_create`' check symbols "$BATS_TEST_TMPDIR/build"
    grep -q 'differs without a reason: abidiff' "$BATS_TEST_TMPDIR/found"
}

@test "a member at another place, a larger type and a changed prototype are found" {
    what=$("$compatibility" needs) || missing "not there: $what"
    mkdir -p "$BATS_TEST_TMPDIR"/tree/{dat,test/compat,test/support,test/dat,doc}
    cp "$compatibility" "${compatibility%/*}/binary_interface.py" "$BATS_TEST_TMPDIR/tree/test/compat"
    cp doc/marked.py "$BATS_TEST_TMPDIR/tree/doc"
    cp test/support/outcomes "$BATS_TEST_TMPDIR/tree/test/support"
    cp test/dat/abi.tsv "$BATS_TEST_TMPDIR/tree/test/dat"
    compatibility=$BATS_TEST_TMPDIR/tree/test/compat/compatibility
    for change in 's/^( *DAT_COUNT +)max_recv_dtos;/\1swapped;/' 's/^typedef DAT_UINT32 +DAT_TIMEOUT;/typedef DAT_UINT64 DAT_TIMEOUT;/' \
        's/^(.*dat_pz_free *\( *)(DAT_PZ_HANDLE)/\1DAT_COUNT, \2/'; do
        echo "$change"
        rm -rf "$BATS_TEST_TMPDIR/tree/dat/include"
        cp -R dat/include "$BATS_TEST_TMPDIR/tree/dat"
        sed -i -E "$change" "$BATS_TEST_TMPDIR"/tree/dat/include/dat2/*.h
        finds differ diff -rq dat/include "$BATS_TEST_TMPDIR/tree/dat/include"
        finds 'differs without a reason|so, but not in the document' check types
    done
}
