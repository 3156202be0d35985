#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs those of Debian's ibverbs-utils that query the device.
load helpers

setup() { start_network; }
teardown() { stop_all; }

@test "ibv_devices lists soft0 with its GUID" {
    need_program ibv_devices
    run_to_end devices env LD_PRELOAD="$softverbs" ibv_devices
    has devices '^ +soft0[[:space:]]+[0-9a-f]{16}$'
    [ -z "$(grep '0\{16\}$' "$BATS_TEST_TMPDIR/devices.out")" ]
    is_silent devices
}

@test "ibv_devinfo -v shows an active port with a LID, a GID and limits that consumers can work with" {
    need_program ibv_devinfo
    run_to_end devinfo env LD_PRELOAD="$softverbs" ibv_devinfo -v
    has devinfo '^hca_id:	soft0$'
    has devinfo '	phys_port_cnt:			1$'
    has devinfo '	state:			PORT_ACTIVE \(4\)$'
    has devinfo '	port_lid:		[1-9][0-9]*$'
    has devinfo '	GID\[  0\]:		[0-9a-f:]+'
    has devinfo '	max_mr_size:			0x[0-9a-f]+$'
    [ "$(awk '$1 == "max_qp_wr:" { print $2 }' "$BATS_TEST_TMPDIR/devinfo.out")" -ge 16384 ]
    [ "$(awk '$1 == "max_cqe:" { print $2 }' "$BATS_TEST_TMPDIR/devinfo.out")" -ge 16384 ]
    is_silent devinfo
}

@test "ibv_devinfo shows the same device under the same numbers to every process of a fabric, others in another" {
    need_program ibv_devinfo
    run_to_end first env LD_PRELOAD="$softverbs" ibv_devinfo -v
    run_to_end second env LD_PRELOAD="$softverbs" ibv_devinfo -v
    diff "$BATS_TEST_TMPDIR/first.out" "$BATS_TEST_TMPDIR/second.out"
    mkdir -m 700 "$BATS_TEST_TMPDIR/other"
    run_to_end other env LD_PRELOAD="$softverbs" SOFTVERBS_FABRIC="$BATS_TEST_TMPDIR/other" ibv_devinfo -v
    gid=$(grep 'GID\[' "$BATS_TEST_TMPDIR/first.out")
    [ "$gid" != "$(grep 'GID\[' "$BATS_TEST_TMPDIR/other.out")" ]
}
