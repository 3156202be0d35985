#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs each fault of faults.c with the checks, beside the same program without the fault.
load finds

setup() {
    program=$TOP_BUILDDIR/test/check/program
    export SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric DAT_OVERRIDE=$TOP_BUILDDIR/test/api/dat.conf
    export OPENDAT_CHECK=on
}

# shellcheck disable=SC2034 # stack is for finds.bash
# usage: over_scm - soft0 is an IA of the provider over sockets.
over_scm() {
    printf 'soft0 u2.0 nonthreadsafe default %s dapl.2.0 "soft0 1" ""\n' "$TOP_BUILDDIR/.libs/libdaploscm.so.2" >"$BATS_TEST_TMPDIR/dat.conf"
    export DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf
    stack=(env DAPL_SCM_NETDEV=lo "LD_PRELOAD=$TOP_BUILDDIR/.libs/libsoftverbs.so")
}

@test "memory: a context that no region has" {
    finds not_registered DAT401 "dat_ep_post_send at not_registered \(([a-z_]+\.c:[0-9]+, )?program\+0x[0-9a-f]+\): segment 0 \(.*, 8 bytes\) names context 0x7fffff01.*the buffer's region has context"
}

@test "a place has the line of its source, with debug information and libdw" {
    python3 -c 'import ctypes; ctypes.CDLL("libdw.so.1")' 2>/dev/null || skip "libdw is not installed"
    readelf -S "$program" | grep -q '\.debug_line' || skip "the program was compiled without debug information"
    local line
    line=$($AWK '/^static void not_registered/ { inside = 1 } inside && /dat_ep_post_send/ { print FNR; exit }' "$TOP_SRCDIR/test/check/faults.c")
    finds not_registered DAT401 "dat_ep_post_send at not_registered \(faults\.c:$line, program\+0x"
}

@test "memory: a segment that leaves its region by one byte" {
    finds out_of_range DAT402 "dat_ep_post_send at out_of_range .*, 9 bytes\) is not within the region of context .*, 4096 bytes, registered at make_region "
}

@test "memory: a receive into memory registered for reading" {
    finds no_right DAT403 "dat_ep_post_recv at no_right .* needs the right to local write"
}

@test "memory: a region of another protection zone" {
    finds other_zone DAT404 "dat_ep_post_recv at other_zone .* whose protection zone is not"
}

@test "memory: a region that was freed" {
    finds ended DAT405 "dat_ep_post_send at ended .* registered at make_region .* and freed at ended "
}

@test "memory: a region whose memory was unmapped" {
    finds unmapped DAT406 "dat_ep_post_recv at receive_into .*, 8 bytes\) lies in the region of context .* \(registered at register_in .*\), but is not mapped"
}

@test "memory: a buffer that was unmapped before the completion" {
    finds unmapped_in_flight DAT406 "dat_evd_wait at next .*: segment 0 \(.*, 8 bytes\) lies in the region of context .* \(registered at register_in .*\), but is not mapped"
}

@test "memory: a write to a region of this process that peers may only read" {
    finds remote_right DAT403 "dat_ep_post_rdma_write at write_to .*: the remote segment \(.*, 8 bytes\) needs the right to remote write"
}

@test "memory: a write that leaves a region of this process" {
    finds remote_range DAT402 "dat_ep_post_rdma_write at write_to .*: the remote segment \(.*, 8 bytes\) is not within the region of context .*, 4096 bytes, registered at register_in "
}

@test "memory: a write to a peer in another process that permits none" {
    finds refused DAT407 "dat_evd_wait at next .*: the remote segment \(.*, 8 bytes\), named by context .* in dat_ep_post_rdma_write at refused .*, was refused by the peer"
    grep -E "the peer asked for memory that it may not access.*DAT290" "$BATS_TEST_TMPDIR/told"
}

@test "buffers: a send buffer that is written before the completion" {
    finds changed DAT411 "dat_evd_wait at next .*segment 0 .*, 4096 bytes\) has changed since it was posted by dat_ep_post_send at send_from "
}

@test "buffers: two receives into one place" {
    finds overlap DAT412 "dat_evd_wait at next .*: dat_ep_post_recv at receive_into .* has filled a buffer \(0x[0-9a-f]+, 8 bytes\) that overlaps that of dat_ep_post_recv at receive_into "
}

@test "buffers: two atomic operations whose old values go to one place, with the program's lines" {
    finds atomic_overlap DAT412 "dat_evd_wait at next .*: dat_ib_post_fetch_and_add at atomic_overlap .* that overlaps that of dat_ib_post_fetch_and_add at atomic_overlap "
}

@test "buffers: a region freed under a receive" {
    finds freed_in_flight DAT413 "dat_lmr_free at freed_in_flight .* while dat_ep_post_recv at receive_into "
}

@test "queues: more receives than the queue of their completions has entries" {
    finds queue_too_small DAT421 "dat_ep_post_recv at queue_too_small .*: 9 completions can come to the event dispatcher made at make_evd .* made for 8"
}

@test "queues: requests that never make a completion" {
    finds never_signalled DAT422 "dat_ep_post_rdma_write at never_signalled "
}

@test "queues: a message for which the peer has posted no receive" {
    over_scm
    DAPL_RNR_RETRY=1 finds no_receive DAT425 "dat_evd_wait at next .*: the message of dat_ep_post_send at send_from .* found no receive at the peer, the endpoint made at make_ep "
}

@test "queues: a connection event that is never taken" {
    finds ignored DAT426 "dat_evd_free at .*: the event dispatcher made at make_evd .* has [0-9]+ events that were never taken, among them a connection that was not made"
}

@test "queues: a wait without end at an EVD that nothing feeds" {
    OPENDAT_CHECK_ACTION=fail finds endless_wait DAT423 "dat_evd_wait at endless_wait .* made at make_evd "
}

@test "life: an object left at the close" {
    finds left DAT431 "dat_ia_close at .*: the EVD made at make_evd .*\(1 of this place\)"
}

@test "life: a handle used after it was freed" {
    finds used_after_free DAT432 "dat_evd_dequeue at used_after_free .*: the EVD made at make_evd .* was freed at used_after_free "
}

@test "life: an object of another adapter instance" {
    finds other_ia DAT433 "dat_ep_create at other_ia .*: the PZ made at other_ia .* belongs to another IA"
}

@test "life: private data longer than the transport carries" {
    finds private_data DAT434 "dat_ep_connect at connect_to .*: [0-9]+ bytes of private data are more than the [0-9]+ "
}

@test "order: a send of what a read has yet to bring" {
    finds unfenced DAT441 "dat_ep_post_send at unfenced .*: segment 0 \(.*, 8 bytes\) is read while dat_ep_post_rdma_read at unfenced .* has yet to fill it"
}

@test "order: an atomic operation that is not aligned" {
    finds misaligned DAT442 "dat_ib_post_fetch_and_add at misaligned .*: the remote address 0x[0-9a-f]+4 of an atomic operation"
}

@test "portability: more segments than another device has" {
    finds many_segments DAT445 "dat_ep_post_recv at many_segments .*: 7 segments in one request are possible here, but not with siw \(6\)"
}

@test "portability: private data that scm carries and cma does not" {
    over_scm
    finds long_private_data DAT445 "dat_ep_connect at connect_to .*: 57 bytes of private data are possible here, but not with cma \(56\)"
}

@test "portability: the accepting side sends first" {
    finds sends_first DAT446 "dat_ep_post_send at send_from .*: the endpoint made at make_ep .* has accepted"
}

@test "portability: the first receive comes after the accept" {
    finds late_receive DAT447 "dat_ep_post_recv at receive_into .*: this is the first receive of the endpoint made at make_ep "
}

@test "portability: a program that asks for limits is not told of those of other devices" {
    OPENDAT_CHECK=portability run_case private_data right
    [ -z "$(told)" ] || { told; return 1; }
}

@test "without OPENDAT_CHECK, and with other checks, nothing is told" {
    for checks in '' off buffers,queues,life; do
        OPENDAT_CHECK=$checks run_case ended wrong
        ! grep -E '\[DAT4' "$BATS_TEST_TMPDIR/told"
    done
    OPENDAT_CHECK=life,memory run_case ended wrong
    grep -E '\[DAT405\]' "$BATS_TEST_TMPDIR/told"
}

@test "an unknown check is told, and the others are made" {
    OPENDAT_CHECK=memry,memory run_case ended wrong
    grep -E "OPENDAT_CHECK.*memry.*off, on, memory" "$BATS_TEST_TMPDIR/told"
    grep -E '\[DAT405\]' "$BATS_TEST_TMPDIR/told"
}

@test "opendat.yaml gives one IA checks" {
    printf 'ias:\n  - ia_name: soft0\n    settings: {OPENDAT_CHECK: memory}\n' >"$BATS_TEST_TMPDIR/opendat.yaml"
    unset OPENDAT_CHECK
    OPENDAT_CONFIG=$BATS_TEST_TMPDIR/opendat.yaml run_case ended wrong
    grep -E '\[DAT405\]' "$BATS_TEST_TMPDIR/told"
}

@test "action fail: the call fails, and the connection is not broken by the device" {
    OPENDAT_CHECK_ACTION=fail run_case out_of_range wrong
    grep -E '\[DAT402\]' "$BATS_TEST_TMPDIR/told"
    [ "$(grep -cE '\[DAT29' "$BATS_TEST_TMPDIR/told")" -eq 0 ]
}

@test "action abort: the process ends by SIGABRT after the message" {
    local status=0
    ulimit -c 0
    OPENDAT_CHECK_ACTION=abort run_case out_of_range wrong || status=$?
    [ "$status" -eq 134 ]
    grep -E '\[DAT402\]' "$BATS_TEST_TMPDIR/told"
}

@test "the counts are told at the end of a program that does not close its IA" {
    finds ends_early DAT421 "dat_ep_post_recv at queue_too_small "
    grep -E 'checks of IA soft0: 1 findings at 1 places \(queues 1\) \[DAT449\]' "$BATS_TEST_TMPDIR/told"
}

@test "the counts at the close name the checks" {
    run_case queue_too_small wrong
    grep -E 'checks of IA soft0: 1 findings at 1 places \(queues 1\) \[DAT449\]' "$BATS_TEST_TMPDIR/told"
}

@test "OPENDAT_CHECK_LOG: a line of JSON for each finding, as the schema says" {
    command -v python3 >/dev/null || skip "not installed: python3"
    OPENDAT_CHECK_LOG=$BATS_TEST_TMPDIR/log run_case overlap wrong
    python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 1 and lines[0]["message"] == "DAT412" and lines[0]["check"] == "buffers", lines
assert lines[0]["call"] == "dat_evd_wait" and lines[0]["place"].startswith("next ("), lines
properties = json.load(open(sys.argv[2]))["properties"]
assert set(lines[0]) == set(properties), (lines[0], properties)
' "$BATS_TEST_TMPDIR/log" "$TOP_SRCDIR/doc/schema/opendat_check.json"
}

@test "audit: codes are those of the pages, and events come once, in tests of the calls" {
    local test
    export OPENDAT_CHECK=audit OPENDAT_CHECK_LOG=$BATS_TEST_TMPDIR/findings
    for test in connection_codes evd disconnect endpoint service_points srq transfer; do
        "$TOP_BUILDDIR/test/api/${test}_test" >"$BATS_TEST_TMPDIR/printed" 2>&1 || { cat "$BATS_TEST_TMPDIR/printed"; return 1; }
    done
    [ ! -s "$OPENDAT_CHECK_LOG" ] || { cat "$OPENDAT_CHECK_LOG"; return 1; }
}
