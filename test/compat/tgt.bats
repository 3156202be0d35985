#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's tgt, a SCSI target, with iSER, and libiscsi's conformance tests over it. The same tests over TCP are the control: each
# must end in the same way, with as many assertions.
#
# They are the families that read, write and compare data, with the requests of theirs that must be refused. What libiscsi itself does
# otherwise with iSER is left out, whatever the device: tests named Async and those of task management follow null pointers of libiscsi,
# and tests of residuals and allocation lengths find the length that was asked for in place of the one that came.
load helpers

tool=$TOP_BUILDDIR/softverbs
target=iqn.2026-01.example:disk
# The tests that move data, and those that look at the refusal of wrong requests.
families='(Read(6|10|12|16)|ReadCapacity1[06]|Write(10|12|16)|WriteAtomic16|WriteSame1[06]|WriteVerify1[026]|Verify1[026]|OrWrite|CompareAndWrite|Prefetch1[06]|Mandatory)'

setup() {
    need_package tgt tgtd tgtadm
    need_package libiscsi-bin iscsi-test-cu iscsi-inq
    start_network
    cd "$BATS_TEST_TMPDIR" || return
}
teardown() { stop_all; }

# usage: start_target DRIVER - a target with one disk of 64 MiB. tgt's iSER asks for a binding of both kinds, of the address and of the
# initiator's name. The driver iscsi serves TCP.
start_target() {
    local driver=$1 operation
    mkdir "$driver"
    truncate -s 64M "$driver/disk"
    export TGT_IPC_SOCKET=$PWD/$driver/socket
    start "$driver" "$tool" run tgtd -f -C 0
    eventually_alive "$driver" test -S "$TGT_IPC_SOCKET.0"
    for operation in "new --mode target --tid 1 --targetname $target" \
        "new --mode logicalunit --tid 1 --lun 1 --backing-store $PWD/$driver/disk" \
        "bind --mode target --tid 1 --initiator-address ALL" \
        "bind --mode target --tid 1 --initiator-name iqn.2026-01.example:one" \
        "bind --mode target --tid 1 --initiator-name iqn.2026-01.example:two"; do
        # shellcheck disable=SC2086 # a list of words
        tgtadm --lld "$driver" --op $operation
    done
}

# usage: conforms PROTOCOL TEST - runs it in a process of its own, and prints how it ended. libiscsi cancels its thread for rdma_cm's
# events and frees what that thread reads without waiting for its end. A process that this has crashed (SIGSEGV, SIGABRT) proves
# nothing of the test, and runs again.
conforms() {
    local status tries
    # shellcheck disable=SC2034 # counted, not read
    for tries in {1..10}; do
        status=0
        start client "$tool" run iscsi-test-cu --initiator-name iqn.2026-01.example:one --initiator-name-2 iqn.2026-01.example:two \
            --dataloss --test "$2" "$1://127.0.0.1:3260/$target/1"
        wait "${process_of[client]}" || status=$?
        [ "$status" -ge 128 ] || break
    done
    unset 'process_of[client]'
    echo "$2: $status $(grep -oE 'passed|SKIPPED|FAILED' client.out | sort -u | tr '\n' ' ')$(grep -E '^ *asserts' client.out)"
}

# usage: conformance DRIVER - prints how each test ends on a new target.
conformance() {
    local test
    start_target "$1" >&2
    for test in $(iscsi-test-cu --list | grep -E "^SCSI\.$families\." | grep -vE 'Async|Residuals'); do conforms "$1" "$test"; done
    tgtadm --lld "$1" --op delete --mode system --force >&2 || true
    kill -KILL "$(pgrep -P "${process_of[$1]}" tgtd)"
    wait "${process_of[$1]}" || true
    unset "process_of[$1]"
}

@test "tgt with iSER: iscsi-inq finds its disk" {
    start_target iser
    run_to_end client "$tool" run iscsi-inq --initiator-name=iqn.2026-01.example:one "iser://127.0.0.1:3260/$target/1"
    has client '^Product:VIRTUAL-DISK'
    is_silent client
}

@test "tgt with iSER: libiscsi's tests that read and write end as over TCP, and leave the same disk" {
    conformance iscsi >over_tcp
    conformance iser >over_iser
    diff over_tcp over_iser
    [ "$(wc -l <over_iser)" -gt 100 ]
    cmp iscsi/disk iser/disk
}
