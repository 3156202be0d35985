#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs each fault of verbs_faults.c under `softverbs run --check`, beside the same program without
# the fault.

setup() {
    program=$TOP_BUILDDIR/test/check/verbs_program
    export SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric
    ulimit -c 0
}

# usage: run_case OPTION CASE right|wrong - leaves standard error in the file `told`; ends with the
# status of softverbs.
run_case() {
    timeout $((60 * ${TEST_TIME_SCALE%%.*})) "$TOP_BUILDDIR/softverbs" run --only "$1" "$program" "$2" "$3" \
        2>"$BATS_TEST_TMPDIR/told" >"$BATS_TEST_TMPDIR/printed"
}

never() { if "$@"; then echo "succeeded: $*"; return 1; fi; }

told() { cat "$BATS_TEST_TMPDIR/told"; }

# usage: finds CASE ID TEXT - the right program is silent and has status 0; the wrong one gets the
# message once, in which TEXT is named, and a count, and has status 99.
finds() {
    local status=0
    run_case --check "$1" right || { cat "$BATS_TEST_TMPDIR/printed"; told; return 1; }
    [ -z "$(told)" ] || { echo "the right program was told:"; told; return 1; }
    run_case --check "$1" wrong || status=$?
    [ "$status" -eq 99 ] || { echo "status $status:"; told; return 1; }
    [ "$(grep -c "\[$2\]" "$BATS_TEST_TMPDIR/told")" -eq 1 ] || { echo "not once $2:"; told; return 1; }
    grep "\[$2\]" "$BATS_TEST_TMPDIR/told" | grep -qE -- "$3" || { echo "lacks $3:"; told; return 1; }
    ! grep -vE "\[($2|DAT449|DAT2[0-9][0-9])\]" "$BATS_TEST_TMPDIR/told"
}

@test "memory: a key that no region has" {
    finds not_registered DAT401 "ibv_post_send at [a-z_]+ \(([a-z_]+\.c:[0-9]+, )?verbs_program\+0x[0-9a-f]+\): segment 0 \(.*, 8 bytes\) names key 0x7fffff01.*the buffer's region has key"
}

@test "memory: a segment that leaves its region by one byte" {
    finds out_of_range DAT402 "ibv_post_send at [a-z_]+ .*, 9 bytes\) is not within the region of key .*, 4096 bytes, registered at make_region "
}

@test "memory: a receive into memory registered for reading" {
    finds no_right DAT403 "ibv_post_recv at receive_into .* needs the right to local write"
}

@test "memory: a region of another protection domain" {
    finds other_domain DAT404 "ibv_post_recv at receive_into .* whose protection domain is not that of the queue pair"
}

@test "memory: a region that was deregistered" {
    finds ended DAT405 "ibv_post_send at [a-z_]+ .* registered at ended .* and freed at ended "
}

@test "memory: a region whose memory was unmapped" {
    finds unmapped DAT406 "ibv_post_recv at receive_into .*, 8 bytes\) lies in the region of key .* \(registered at unmapped .*\), but is not mapped"
}

@test "memory: a write to a region of this process that peers may only read" {
    finds remote_right DAT403 "ibv_post_send at [a-z_]+ .*: the remote segment \(.*, 8 bytes\) needs the right to remote write"
}

@test "memory: a write that leaves a region of this process" {
    finds remote_range DAT402 "ibv_post_send at [a-z_]+ .*: the remote segment \(.*, 8 bytes\) is not within the region of key .*, 4096 bytes, registered at make_region "
}

@test "memory: the end that was asked for memory is told when it takes the event" {
    run_case --check asked right
    never grep -q '\[DAT4' "$BATS_TEST_TMPDIR/told"
    run_case --check asked wrong || [ $? -eq 99 ]
    grep -E "ibv_get_async_event at asked .*: what the peer asked for \(.*, 8 bytes\) is not within the region of key .*, registered at make_region .*DAT402" "$BATS_TEST_TMPDIR/told"
}

@test "buffers: a send buffer that is written before the completion" {
    finds changed DAT411 "ibv_poll_cq at next .*segment 0 .*, 4096 bytes\) has changed since it was posted by ibv_post_send at [a-z_]+ "
}

@test "buffers: two receives into one place" {
    finds overlap DAT412 "ibv_poll_cq at next .*: ibv_post_recv at receive_into .* has filled a buffer \(0x[0-9a-f]+, 8 bytes\) that overlaps that of ibv_post_recv at receive_into "
}

@test "buffers: a region deregistered under a receive" {
    finds freed_in_flight DAT413 "ibv_dereg_mr at free_region .* while ibv_post_recv at receive_into "
}

@test "queues: more receives than the queue of their completions has entries" {
    finds queue_too_small DAT421 "ibv_post_recv at queue_too_small .*: [0-9]+ completions can come to the completion queue made at queue_too_small "
}

@test "queues: requests that never make a completion" {
    finds never_signalled DAT422 "ibv_post_send at [a-z_]+ .*as many as the queue pair made at make_qp "
}

@test "queues: a message for which the peer has posted no receive" {
    finds no_receive DAT425 "ibv_poll_cq at next .*: the message of ibv_post_send at [a-z_]+ .* found no receive at the peer, the queue pair made at make_qp "
}

@test "queues: a completion event that is not acknowledged" {
    OPENDAT_CHECK_ACTION=fail finds unacknowledged DAT424 "ibv_destroy_cq at unacknowledged .*: 1 events of the completion queue made at main "
}

@test "queues: a wait at a channel that no completion queue has" {
    OPENDAT_CHECK_ACTION=fail finds endless_wait DAT423 "ibv_get_cq_event at endless_wait .*: nothing can bring an event to the completion channel made at endless_wait "
}

@test "life: an object left at the close" {
    finds left DAT431 "ibv_close_device at .*: the completion queue made at left .*\(1 of this place\)"
}

@test "life: objects left at the end of the program" {
    local status=0
    run_case --check left_at_exit right
    [ -z "$(told)" ] || { told; false; }
    run_case --check left_at_exit wrong || status=$?
    [ "$status" -eq 99 ] || { told; false; }
    for object in "the queue pair made at make_qp" "the completion channel made at main" "the protection domain made at main"; do
        grep "\[DAT431\]" "$BATS_TEST_TMPDIR/told" | grep -q "exit at .*: $object" || { echo "lacks $object"; told; return 1; }
    done
}

@test "life: an object destroyed twice" {
    finds used_after_destroy DAT432 "ibv_destroy_cq at used_after_destroy .*: the completion queue made at used_after_destroy .* was freed at used_after_destroy "
}

@test "life: a post on a queue pair that is destroyed" {
    finds posted_after_destroy DAT432 "ibv_post_recv at posted_after_destroy .*: the queue pair made at make_qp .* was freed at posted_after_destroy "
}

@test "life: a poll of a completion queue that is destroyed" {
    finds polled_after_destroy DAT432 "ibv_poll_cq at polled_after_destroy .*: the completion queue made at polled_after_destroy .* was freed at polled_after_destroy "
}

@test "life: a datagram to an address handle that is destroyed" {
    finds sent_to_destroyed DAT432 "ibv_post_send at sent_to_destroyed .*: the address handle made at sent_to_destroyed .* was freed at sent_to_destroyed "
}

@test "life: an object of another context" {
    finds other_context DAT433 "ibv_create_qp at make_qp .*: the completion queue made at other_context .* belongs to another device context"
}

@test "life: a child uses its parent's device" {
    finds forked DAT435 "ibv_alloc_pd at forked .*: the device context was made before this process was forked"
}

@test "life: a queue destroyed before the queue pair that uses it" {
    finds wrong_order DAT436 "ibv_destroy_cq at wrong_order .*: the completion queue made at wrong_order .* cannot be destroyed, because the queue pair made at make_qp "
}

@test "order: a send of what a read has yet to bring" {
    finds unfenced DAT441 "ibv_post_send at post .*: segment 0 \(.*, 8 bytes\) is read while ibv_post_send at post .* has yet to fill it"
}

@test "without --check, and with other checks, nothing is told" {
    run_case --only out_of_range wrong
    never grep -E '\[DAT4' "$BATS_TEST_TMPDIR/told"
    run_case --check=buffers,queues,life out_of_range wrong
    never grep -E '\[DAT4' "$BATS_TEST_TMPDIR/told"
}

@test "an unknown check is refused" {
    run_case --check=memry out_of_range right || [ $? -eq 125 ]
    grep -E "'memry' is none of on, memory" "$BATS_TEST_TMPDIR/told"
}

@test "action fail: the post fails, and the device does not see it" {
    local status=0
    OPENDAT_CHECK_ACTION=fail run_case --check out_of_range wrong || status=$?
    [ "$status" -eq 99 ]
    grep -E '\[DAT402\]' "$BATS_TEST_TMPDIR/told"
    never grep -E '\[DAT2' "$BATS_TEST_TMPDIR/told"
}

@test "action abort: the process ends by SIGABRT after the message" {
    local status=0
    OPENDAT_CHECK_ACTION=abort run_case --check out_of_range wrong || status=$?
    [ "$status" -eq 134 ]
    grep -E '\[DAT402\]' "$BATS_TEST_TMPDIR/told"
}

@test "the status is 99 when a process that the program started has done it" {
    local status=0
    timeout 120 "$TOP_BUILDDIR/softverbs" run --only --check sh -c "$program out_of_range wrong; exit 3" 2>"$BATS_TEST_TMPDIR/told" || status=$?
    [ "$status" -eq 99 ] || { told; false; }
}

@test "the program's own status stays when nothing is found, and --explain goes with --check" {
    local status=0
    timeout 120 "$TOP_BUILDDIR/softverbs" run --only --check --explain sh -c "$program out_of_range right; exit 3" 2>"$BATS_TEST_TMPDIR/told" || status=$?
    [ "$status" -eq 3 ] || { told; false; }
    grep -q 'softverbs run: .*soft0' "$BATS_TEST_TMPDIR/told"
}

@test "OPENDAT_CHECK_LOG: a line of JSON for each finding, as the schema says" {
    command -v python3 >/dev/null || skip "not installed: python3"
    OPENDAT_CHECK_LOG=$BATS_TEST_TMPDIR/log run_case --check overlap wrong || [ $? -eq 99 ]
    python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 1 and lines[0]["message"] == "DAT412" and lines[0]["check"] == "buffers", lines
assert lines[0]["call"] == "ibv_poll_cq" and lines[0]["place"].startswith("next ("), lines
properties = json.load(open(sys.argv[2]))["properties"]
assert set(lines[0]) == set(properties), (lines[0], properties)
' "$BATS_TEST_TMPDIR/log" "$TOP_SRCDIR/doc/schema/opendat_check.json"
}
