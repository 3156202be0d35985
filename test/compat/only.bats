#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs programs that take the first device that they find, or try each, on a machine whose first
# device does not work: a stand-in for libibverbs lists one that does not open, and notes what
# reaches it. Under softverbs run --only they find soft0 alone.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() {
    start_network
    ln -s "$TOP_BUILDDIR/test/compat/.libs/fake_ibverbs.so" "$BATS_TEST_TMPDIR/libibverbs.so.first"
    log=$BATS_TEST_TMPDIR/log
    : >"$log"
    beside=(env "LD_PRELOAD=$BATS_TEST_TMPDIR/libibverbs.so.first" FAKE_DEVICE_FAILS=1 "FAKE_SYSTEM_LOG=$log" "$tool" run)
    only=("${beside[@]}" --only)
}
teardown() { stop_all; }

reached() { grep -qx "$1" "$log"; }
not_touched() { [ ! -s "$log" ] || { echo "the first device was used:"; cat "$log"; return 1; }; }

@test "ibv_devices lists soft0 alone, by the option and by the setting" {
    need_program ibv_devices
    run_to_end both "${beside[@]}" ibv_devices
    has both '^ +fake0 '
    : >"$log"
    run_to_end option "${only[@]}" ibv_devices
    run_to_end setting env SOFTVERBS_ONLY=1 "${beside[@]}" ibv_devices
    for one in option setting; do
        [ "$(awk 'NR > 2 { print $1 }' "$BATS_TEST_TMPDIR/$one.out")" = soft0 ]
        is_silent "$one"
    done
    not_touched
}

@test "perftest, with no device named" {
    need_program ib_write_bw
    run "${beside[@]}" timeout 60 ib_write_bw -F -n 100
    [ "$status" -ne 0 ]
    reached ibv_open_device
    : >"$log"
    start server "${only[@]}" ib_write_bw -F -n 100
    await_port server 18515
    run_to_end client "${only[@]}" ib_write_bw -F -n 100 127.0.0.1
    await_end server
    has client '^ 65536 +100 '
    not_touched
}

@test "UCX, with no device named" {
    need_program ucx_perftest
    run "${beside[@]}" ucx_info -d
    reached ibv_get_device_list
    : >"$log"
    ucx=(env "UCX_TLS=rc_verbs,ud_verbs" "${only[@]}" stdbuf -oL ucx_perftest -p 13337)
    start server "${ucx[@]}"
    await_port server 13337
    run_to_end client "${ucx[@]}" -t tag_lat -n 100 -w 10 127.0.0.1
    await_end server
    has client '^Final: +[0-9]+ +[0-9.]+ +[0-9.]+'
    not_touched
}

@test "libfabric, with no device named" {
    need_program fi_pingpong
    fi=("${only[@]}" stdbuf -oL fi_pingpong -p verbs -e msg -I 50 -S 4096)
    start server "${fi[@]}"
    await_port server 47592
    run_to_end client "${fi[@]}" 127.0.0.1
    await_end server
    has client '^4k +50 '
    not_touched
}

@test "rdma_cm: rping" {
    need_program rping
    start server "${only[@]}" stdbuf -oL rping -s -a 127.0.0.1 -p 7174 -d -C 3
    await_line server '^rdma_listen$'
    start client "${only[@]}" rping -c -a 127.0.0.1 -p 7174 -v -C 3
    await_rping client
    [ "$(grep -c '^ping data: rdma-ping-[0-9]*:' "$BATS_TEST_TMPDIR/client.out")" -eq 3 ]
    not_touched
}

@test "--only and --cm=system contradict each other" {
    run "$tool" run --only --cm=system true
    [ "$status" -eq 125 ]
    [[ $output == *"--only hides the devices that --cm=system is for"* ]]
}
