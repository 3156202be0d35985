#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests real devices beside soft0. Stand-ins with the names and version nodes of the system's
# libraries show one device and note what reaches them. On machines with RDMA devices the same is
# tried with those (test/kernel).
load helpers

tool=$TOP_BUILDDIR/softverbs
both=$TOP_BUILDDIR/test/compat/both_devices

setup() {
    start_network
    system=$BATS_TEST_TMPDIR/system
    mkdir "$system"
    ln -s "$TOP_BUILDDIR/test/compat/.libs/fake_ibverbs.so" "$system/libibverbs.so.1"
    ln -s "$TOP_BUILDDIR/test/compat/.libs/fake_rdmacm.so" "$system/librdmacm.so.1"
    log=$BATS_TEST_TMPDIR/log
    : >"$log"
    export FAKE_SYSTEM_LOG=$log
}
teardown() { stop_all; }


reached() {
    [ "$(grep -cx "$1" "$log")" -eq "$2" ] || { echo "$1 did not reach the system $2 times:"; cat "$log"; return 1; }
}

@test "a real device is listed before soft0, and each object's calls go to whoever made it" {
    run_to_end both env LD_LIBRARY_PATH="$system" "$tool" run "$both"
    prints both <<'LINES'
fake0: max_qp 11
soft0: max_qp another
closed: 0 0 0 16 0
closed: 0 0 0 0 0
fork: 22
event channel: soft0's
LINES
    is_silent both
    for call in ibv_get_device_list ibv_free_device_list ibv_get_device_name ibv_open_device ibv_alloc_pd ibv_create_comp_channel \
        ibv_create_cq ibv_reg_mr ibv_query_device ibv_ack_async_event ibv_dereg_mr ibv_destroy_cq ibv_destroy_comp_channel \
        ibv_dealloc_pd ibv_close_device ibv_fork_init; do
        reached "$call" 1
    done
    never grep -q '^rdma_' "$log"
    fabric_is_clean
}

@test "lists survive what programs do with rdma-core's: free(), another order, memory of their own in them" {
    lists=$TOP_BUILDDIR/test/compat/freed_lists
    run_to_end alone env MALLOC_CHECK_=3 "$tool" run "$lists"
    has alone '^every list was freed$'
    run_to_end both env MALLOC_CHECK_=3 LD_LIBRARY_PATH="$system" "$tool" run "$lists"
    has both '^every list was freed$'
    is_silent alone
    is_silent both
    # free() of a list does not reach the system's devices; only the other list goes to the system's
    # own function.
    reached ibv_get_device_list 2
    reached ibv_free_device_list 1
}

@test "SOFTVERBS_CM=system: rdma_cm is the system's alone" {
    run_to_end both env LD_LIBRARY_PATH="$system" "$tool" run --cm system "$both"
    has both "^event channel: the system's$"
    reached rdma_create_event_channel 1
    reached rdma_destroy_event_channel 1
    is_silent both
}

@test "SOFTVERBS_CM that is neither: a warning, and rdma_cm is soft0's" {
    run_to_end both env LD_LIBRARY_PATH="$system" SOFTVERBS_CM=mine "$tool" run "$both"
    has both "^event channel: soft0's$"
    never grep -q '^rdma_' "$log"
    [[ $(cat "$BATS_TEST_TMPDIR/both.err") == *"SOFTVERBS_CM 'mine' is neither soft0 nor system"*"[DAT310]"* ]]
}

@test "without a real device soft0 is the only one, and nothing is said of it" {
    run_to_end both "$tool" run "$both"
    prints both <<'LINES'
soft0: max_qp another
closed: 0 0 0 0 0
fork: 0
event channel: soft0's
LINES
    is_silent both
}

@test "libdaplsoft's own core never passes through: dtest reaches soft0, and the system's libraries nothing" {
    printf 'ia u2.0 nonthreadsafe default %s dapl.2.0 "soft0 0" ""\n' "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" \
        >"$BATS_TEST_TMPDIR/dat.conf"
    ours=(env "LD_LIBRARY_PATH=$system:$TOP_BUILDDIR/.libs" "DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf"
        "$tool" run "$TOP_BUILDDIR/dtest")
    start server "${ours[@]}" -P ia -b 64 -B 5
    await_port server 15828
    run_to_end client "${ours[@]}" -P ia -h 127.0.0.1 -b 64 -B 5
    await_end server
    has client 'DAPL Test Complete\. PASSED'
    [ ! -s "$log" ] || { cat "$log"; false; }
}

# usage: real_device - prints the name of one on which two processes can make a reliable connection
# by themselves.
real_device() {
    ibv_devices 2>/dev/null | awk 'NR > 2 && $1 !~ /^siw/ { print $1; exit }'
}

@test "this machine's own RDMA device and soft0 both carry ibv_rc_pingpong under softverbs run" {
    need_program ibv_devices ibv_rc_pingpong
    device=$(real_device)
    [ -n "$device" ] || skip "this machine has no RDMA device of its own"
    # The device's network is the machine's own.
    enter_network=()
    [ -z "$network_process" ] || kill "$network_process"
    network_process=
    for one in "$device" soft0; do
        gid=()
        [ "$one" = soft0 ] || gid=(-g 1)
        start server "$tool" run ibv_rc_pingpong -d "$one" "${gid[@]}" -n 20 -p 18515
        await_port server 18515
        run_to_end client "$tool" run ibv_rc_pingpong -d "$one" "${gid[@]}" -n 20 -p 18515 127.0.0.1
        await_end server
        has client '^20 iters in'
    done
    run_to_end devices "$tool" run ibv_devices
    [ "$(awk 'NR > 2 { name = $1 } END { print name }' "$BATS_TEST_TMPDIR/devices.out")" = soft0 ]
    has devices "^ +$device "
}
