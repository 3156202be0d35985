#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the outcome tables of doc/compatibility.md, and the script that makes them.
load ../compat/helpers

setup() {
    outcomes=$TOP_SRCDIR/test/support/outcomes
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p source/test/kernel build/test/kernel
    script=source/test/kernel/some.bats
    log=build/test/kernel/some.log
    printf '%s\n' '@test "cma on rxe0, our server, our client: connect" { cell; }' \
        '@test "cma on rxe0, our server, the reference'\''s client: connect" { cell; }' \
        '@test "cma on rxe0, our server, our client: send" { cell; }' '@test "our dtest, polling, on rxe with cma" { true; }' \
        '@test "what is in no table" { true; }' >"$script"
    printf '%s\n' 1..5 '# about: Linux of the machine: 6.1' 'ok 1 cma on rxe0, our server, our client: connect' \
        'not ok 2 cma on rxe0, our server, the reference'\''s client: connect in 31ms' '# (in test file some.bats)' \
        'ok 3 cma on rxe0, our server, our client: send # skip no such device' \
        'ok 4 our dtest, polling, on rxe with cma' 'ok 5 what is in no table' >"$log"
    printf '%s\n' 'Before.' '<!-- outcomes: begin -->' 'old' '<!-- outcomes: end -->' 'After.' >document
}

@test "the outcome tables have exactly the rows and columns of the tests" {
    cd "$TOP_SRCDIR"
    # shellcheck disable=SC2086 # a list of words
    "$outcomes" check doc/compatibility.md $OUTCOME_SCRIPTS
}

@test "an outcome table says what passed, failed and was not run, why, and on what" {
    "$outcomes" write document build "$script"
    diff -u - document <<'LINES'
Before.
<!-- outcomes: begin -->
Made by `make interoperation-document`: Linux of the machine 6.1.

**Pairings**

| between | connect | send |
|---|---|---|
| cma on rxe0, our server, our client | ok | - |
| cma on rxe0, our server, the reference's client | FAILED |  |

**Programs on our libraries**

| program | rxe with cma |
|---|---|
| our dtest, polling | ok |

- Not run: cma on rxe0, our server, our client: send: no such device
<!-- outcomes: end -->
After.
LINES
    "$outcomes" check document "$script"
}

@test "a test without its cell, and a cell without its test, are told" {
    "$outcomes" write document build "$script"
    echo '@test "cma on siw0, our server, our client: connect" { cell; }' >>"$script"
    sed -i '/: send/d' "$script"
    status=0
    "$outcomes" check document "$script" >said || status=$?
    [ "$status" -eq 1 ]
    diff -u - said <<'LINES'
in the document, but no test: Pairings / cma on rxe0, our server, our client / send
a test, but not in the document: Pairings / cma on siw0, our server, our client / connect
LINES
}

@test "no outcome is written for a test that the log does not name" {
    sed -i '/^ok 3/d' "$log"
    status=0
    "$outcomes" write document build "$script" 2>said || status=$?
    [ "$status" -eq 1 ]
    grep -q 'run the tests first' said
    grep -qx old document
}

@test "the cells of a script without a log stay as they are, and what they were made on" {
    "$outcomes" write document build "$script"
    cp document before
    rm "$log"
    "$outcomes" write document build "$script"
    diff -u before document
    other=source/test/kernel/other.bats
    echo '@test "our dtest, waiting, on rxe with cma" { true; }' >"$other"
    printf '%s\n' 1..1 '# about: Linux of the machine: 6.2' 'ok 1 our dtest, waiting, on rxe with cma' >build/test/kernel/other.log
    "$outcomes" write document build "$script" "$other"
    diff <(sed 's/machine 6.1/machine 6.2/; s/^| our dtest, polling | ok |$/&\n| our dtest, waiting | ok |/' before) document
    echo '@test "our dtest, as nobody has run it, on rxe with cma" { true; }' >>"$script"
    status=0
    "$outcomes" write document build "$script" 2>said || status=$?
    [ "$status" -eq 1 ]
    grep -q 'run the tests first' said
}
