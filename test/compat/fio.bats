#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's fio with its engine `rdma`. The one that reads is the server. Only what arrives by
# sends can be verified there: of writes and reads fio's server hears nothing but their end. Debian's
# fio is built without the engines librpma_apm and librpma_gpspm.
load helpers

tool=$TOP_BUILDDIR/softverbs
port=18600

setup() {
    need_package fio fio
    need_program ibv_devinfo
    start_network
    cd "$BATS_TEST_TMPDIR" || return
}
teardown() { stop_all; }

# usage: fio_server OPTIONS... - has as many receives as there are blocks. fio connects with an RNR retry
# count of 0, so a send that finds no receive fails, on every device; and fio then waits for ever.
# Its client gives the server half a second to post them.
fio_server() {
    start server "$tool" run stdbuf -oL fio --name=server --ioengine=rdma --port=$port --rw=read --bs=64k --size=4m --iodepth=64 "$@"
    await_line server 'waiting for connection'
}

# usage: fio_client VERB OPTIONS...
fio_client() {
    local verb=$1
    shift
    start client "$tool" run fio --name=client --ioengine=rdma --hostname=127.0.0.1 --port=$port --verb="$verb" --rw=write \
        --bs=64k --size=4m "$@"
}

# usage: transfers VERB OPTIONS... - moves 64 blocks of 64 KiB.
transfers() {
    fio_server
    fio_client "$@"
    await_end client
    await_end server
    has client 'issued rwts: total=0,64,0,0 short=0,0,0,0 dropped=0,0,0,0'
    is_silent client server
    fabric_gets_clean
}

@test "fio rdma, verb send: every block carries a checksum, which the server verifies" {
    fio_server --verify=crc32c --verify_fatal=1
    fio_client send --iodepth=1 --verify=crc32c --do_verify=0
    await_end client
    await_end server
    has server 'issued rwts: total=64,0,0,0 short=0,0,0,0 dropped=0,0,0,0'
    is_silent client server
    fabric_gets_clean
}

@test "fio rdma, verb send: the server finds blocks that carry none" {
    fio_server --verify=crc32c --verify_fatal=1
    fio_client send --iodepth=1
    local status=0
    wait "${process_of[server]}" || status=$?
    unset 'process_of[server]'
    [ "$status" -eq 1 ]
    grep -hE 'verify: bad (magic )?header' "$BATS_TEST_TMPDIR"/server.{out,err}
}

@test "fio rdma, verb write: 8 blocks of 64 KiB at a time" { transfers write --iodepth=8; }
@test "fio rdma, verb read: 8 blocks of 64 KiB at a time" { transfers read --iodepth=8; }
