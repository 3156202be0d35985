#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Records what the socket manager sends over its sockets, between two ends on our libraries and
# between two on the reference's, over one softverbs fabric: both must send the same messages, byte
# for byte.
load helpers
load interoperation

setup_file() {
    BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
    start_network
    record ours
    record debian
    stop_all
}
setup() {
    need_program python3
    need_library libdat2.so.2 libdaploscm.so.2
}

# usage: record ours|debian - records the conversation of interoperation_peer, whose client takes
# the recorder for the server: a qualifier is 1000 below its port. Leaves
# $BATS_FILE_TMPDIR/OWNER.record and, in OWNER, what both ends printed.
record() {
    local peer=$TOP_BUILDDIR/test/compat/.libs/interoperation_peer
    choose_stack "$1" scm soft0
    server_stack=("${stack[@]}")
    client_stack=("${stack[@]}")
    record_file=$BATS_FILE_TMPDIR/$1.record
    run_both "$BATS_FILE_TMPDIR/$1" "$lost_conversations" server_and_recorder_listen "$peer" ia 45300 -- "$peer" ia 45400 127.0.0.1
    stop_recorder
}

# usage: connection NUMBER OWNER - prints its messages.
connection() { "$TOP_SRCDIR/test/compat/recorded" "$BATS_FILE_TMPDIR/$2.record" "$1" | cut -d ' ' -f 2-; }

# usage: same NUMBER MESSAGE... - checks that the connection's messages have these directions and
# sizes, and are the same from both.
same() {
    local number=$1
    shift
    cat "$BATS_FILE_TMPDIR"/{ours,debian}/{server,client}.err
    grep -q 'status 0, client with 0' "$BATS_FILE_TMPDIR/ours/statuses"
    grep -q 'status 0, client with 0' "$BATS_FILE_TMPDIR/debian/statuses"
    diff -u --label reference --label ours <(connection "$number" debian) <(connection "$number" ours)
    [ "$(connection "$number" ours | cut -d ' ' -f 1,2 | xargs)" = "$*" ]
}

@test "scm over the wire: a request, an answer and the third message; the client ends the connection" {
    same 1 '> 216' '< 216' '> 4' '> 4'
}
@test "scm over the wire: a connection that the server ends" { same 2 '> 216' '< 216' '> 4' '< 4'; }
@test "scm over the wire: a rejection with data" { same 3 '> 216' '< 216'; }
@test "scm over the wire: a rejection without data" { same 4 '> 216' '< 148'; }
