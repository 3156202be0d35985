#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs unmodified programs on several devices with two ports each: softverbs run --devices, --ports.
load ../compat/helpers

tool=$TOP_BUILDDIR/softverbs

setup() {
    start_network
    soft=("$tool" run --devices 3 --ports 2)
}
teardown() { stop_all; }

@test "each device has a GUID of its own, which is the same in all processes" {
    need_program ibv_devices
    run_to_end first "${soft[@]}" ibv_devices
    run_to_end second "${soft[@]}" ibv_devices
    diff "$BATS_TEST_TMPDIR/first.out" "$BATS_TEST_TMPDIR/second.out"
    [ "$(awk 'NR > 2 { print $1 }' "$BATS_TEST_TMPDIR/first.out" | tr '\n' ' ')" = "soft0 soft1 soft2 " ]
    [ "$(awk 'NR > 2 { print $2 }' "$BATS_TEST_TMPDIR/first.out" | sort -u | wc -l)" -eq 3 ]
}

# usage: pingpong PROGRAM "OPTIONS OF THE SERVER" "OPTIONS OF THE CLIENT"
pingpong() {
    need_program "$1"
    local server client
    read -ra server <<<"$2"
    read -ra client <<<"$3"
    start server "${soft[@]}" "$1" -n 100 -p 18515 "${server[@]}"
    await_port server 18515
    run_to_end client "${soft[@]}" "$1" -n 100 -p 18515 "${client[@]}" 127.0.0.1
    await_end server
    has client '^100 iters in'
}

@test "ibv_rc_pingpong within a device, across devices and ports" {
    pingpong ibv_rc_pingpong '-d soft1' '-d soft1'
    pingpong ibv_rc_pingpong '-d soft0' '-d soft2'
    pingpong ibv_rc_pingpong '-d soft2 -i 2' '-d soft1 -i 1'
}

@test "ibv_ud_pingpong across devices and ports" {
    pingpong ibv_ud_pingpong '-d soft2 -i 2' '-d soft1'
}

@test "rping to the address of a device goes to that device, from each process that knows it or not" {
    need_program rping
    for known in 3 1; do
        start "server$known" "${soft[@]}" stdbuf -oL rping -s -a 127.0.0.2 -p "717$known" -d -C 3
        await_line "server$known" '^rdma_listen$'
        start client "$tool" run --devices "$known" rping -c -a 127.0.0.2 -p "717$known" -v -C 3
        await_rping client
        [ "$(grep -c '^ping data: rdma-ping-[0-9]*:' "$BATS_TEST_TMPDIR/client.out")" -eq 3 ]
    done
}

@test "a listener of one device does not answer for another one" {
    need_program rping
    start server "${soft[@]}" stdbuf -oL rping -s -a 127.0.0.2 -p 7174 -d -C 1
    await_line server '^rdma_listen$'
    run "${soft[@]}" rping -c -a 127.0.0.3 -p 7174 -C 1
    [ "$status" -ne 0 ]
    start client "${soft[@]}" rping -c -a 127.0.0.2 -p 7174 -C 1
    await_rping client
}

@test "libfabric lists a domain for each device" {
    need_program fi_info
    run_to_end info "${soft[@]}" fi_info -p verbs
    for device in soft0 soft1 soft2; do has info "^ *domain: $device"; done
}

@test "UCX uses two devices at once" {
    need_program ucx_perftest
    ucx=(env "UCX_TLS=rc_verbs,ud_verbs" "UCX_NET_DEVICES=soft1:1,soft2:2" UCX_MAX_RNDV_RAILS=2 UCX_WARN_UNUSED_ENV_VARS=n "${soft[@]}" stdbuf -oL
        ucx_perftest -p 13337)
    start server "${ucx[@]}"
    await_port server 13337
    run_to_end client "${ucx[@]}" -t tag_bw -n 20 -w 2 -s 1048576 127.0.0.1
    await_end server
    has client '^Final: +[0-9]+ +[0-9.]+ +[0-9.]+'
}

# An adapter instance on each of two devices, for DAT programs.
two_adapters() {
    printf 'soft0 u2.0 nonthreadsafe default %s dapl.2.0 "soft0 0" ""\nsoft1 u2.0 nonthreadsafe default %s dapl.2.0 "soft1 0" ""\n' \
        "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" >"$BATS_TEST_TMPDIR/dat.conf"
    ours=(env "LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs" "DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf" SOFTVERBS_DEVICES=2)
}

@test "DAT adapters on each device: a program with two of them" {
    two_adapters
    ours+=("$TOP_BUILDDIR/dtest")
    for pair in "soft1 soft1" "soft1 soft0"; do
        read -r server client <<<"$pair"
        start server "${ours[@]}" -P "$server" -b 64 -B 5
        await_port server 15828
        run_to_end client "${ours[@]}" -P "$client" -h 127.0.0.2 -b 64 -B 5
        await_end server
        has client 'DAPL Test Complete\. PASSED'
    done
}

@test "numbers that cannot be are refused" {
    for option in --devices=0 --devices=17 --devices=two --ports=3; do
        run "$tool" run "$option" true
        [ "$status" -eq 125 ]
        [[ $output == *"${option%%=*}: '${option#*=}' is not a number from 1 to "* ]]
    done
}

watches() { [ "$(grep -c event_type "$BATS_TEST_TMPDIR/watch.out")" -ge "$1" ]; }
ready() { grep -q 'async event FD' "$BATS_TEST_TMPDIR/watch.out"; }

@test "softverbs port: programs hear of a link that goes and comes; rdma_cm connects when it is back" {
    need_program ibv_asyncwatch ibv_devinfo rping
    "$tool" port soft0 up
    start watch "${soft[@]}" stdbuf -oL ibv_asyncwatch -d soft1
    eventually ready
    run "$tool" port soft1 down
    [ "$output" = "soft1/1: down, told 1 process" ]
    eventually watches 1
    run_to_end info "${soft[@]}" ibv_devinfo -d soft1 -i 1
    has info 'state:[[:space:]]*PORT_DOWN'
    start server "${soft[@]}" rping -s -a 127.0.0.2 -C 1
    never env SOFTVERBS_CONNECT_TIMEOUT=200 timeout 60 "${soft[@]}" rping -c -a 127.0.0.2 -C 1
    "$tool" port soft1 up
    [ "$("$tool" port soft1)" = "soft1/1: up" ]
    start client "${soft[@]}" rping -c -a 127.0.0.2 -C 1
    await_rping client
    await_rping server
    eventually watches 3
    [ "$(awk '/event_type/ { print $2, $NF }' "$BATS_TEST_TMPDIR/watch.out" | tr '\n' ';')" = \
        "IBV_EVENT_PORT_ERR 1;IBV_EVENT_PORT_ACTIVE 1;IBV_EVENT_CLIENT_REREGISTER 1;" ]
}

@test "softverbs device: an rdma_cm program hears that its device was removed, and nobody opens it" {
    need_program rping ibv_devinfo
    start server "${soft[@]}" stdbuf -oL rping -s -v -d -a 127.0.0.2
    eventually grep -q 'rdma_listen' "$BATS_TEST_TMPDIR/server.out"
    "$tool" device soft1 remove
    eventually grep -q 'RDMA_CM_EVENT_DEVICE_REMOVAL' "$BATS_TEST_TMPDIR/server.out"
    [ "$("$tool" device soft1)" = "soft1: removed" ]
    run "${soft[@]}" ibv_devinfo -d soft1
    [[ $output = *"Failed to open device"* ]]
    run_to_end other "${soft[@]}" ibv_devinfo -d soft2
    "$tool" device soft1 add
    run_to_end again "${soft[@]}" ibv_devinfo -d soft1
}

@test "DAT: the adapter whose device loses its link hears of it, and the other one goes on" {
    two_adapters
    run_to_end program "${ours[@]}" "$TOP_BUILDDIR/test/softverbs/two_links" "$tool"
    grep -q 'soft0/1: down, told 1 process' "$BATS_TEST_TMPDIR/program.err"
    "$tool" device soft0 add
    run_to_end broken env DAPL_ACK_TIMER=8 DAPL_ACK_RETRY=1 "${ours[@]}" "$TOP_BUILDDIR/test/softverbs/two_links" "$tool" broken
    grep -q 'the port of the device here has no link.*DAT290' "$BATS_TEST_TMPDIR/broken.err"
}

@test "softverbs port, device: what they do not know is refused" {
    for wrong in "port" "port soft16" "port soft1/3" "port mlx5_0 down" "port soft1 sideways" "port soft1 down now" \
        "device" "device soft1/1" "device soft1 down"; do
        read -ra words <<<"$wrong"
        run "$tool" "${words[@]}"
        [ "$status" -eq 2 ] || { echo "$wrong: $status"; false; }
        [[ $output = *"softverbs ${words[0]}: "*"see \`softverbs ${words[0]} --help\`"* ]]
    done
}
