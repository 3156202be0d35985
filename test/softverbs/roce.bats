#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs unmodified programs on devices of RoCE: softverbs run --link roce.
# shellcheck disable=SC2154 # the helpers set fabric and process_of
load ../compat/helpers
load ../compat/interoperation

tool=$TOP_BUILDDIR/softverbs

setup() {
    start_network
    soft=("$tool" run --link roce stdbuf -oL)
}
teardown() { stop_all; }

@test "ibv_devinfo -v: an Ethernet port without a LID, and GIDs of both versions" {
    need_program ibv_devinfo
    run_to_end info "${soft[@]}" ibv_devinfo -v
    has info 'link_layer:[[:space:]]+Ethernet$'
    has info 'port_lid:[[:space:]]+0$'
    has info 'GID\[ *0\]:[[:space:]]+fe80:.*RoCE v1$'
    has info 'GID\[ *1\]:[[:space:]]+fe80:.*RoCE v2$'
    has info 'GID\[ *3\]:[[:space:]]+::ffff:127\..*RoCE v2$'
}

@test "/sys has the link layer and the types of GIDs" {
    local port=/sys/class/infiniband/soft0/ports/1
    run_to_end sys "${soft[@]}" cat $port/link_layer $port/lid $port/gid_attrs/types/{2,3} $port/gid_attrs/ndevs/3
    [ "$(output_of sys)" = "$(printf '%s\n' Ethernet 0x0 'IB/RoCE v1' 'RoCE v2' lo)" ]
}

@test "ibstat and ibstatus" {
    need_program ibstat ibstatus
    run_to_end stat "${soft[@]}" ibstat soft0
    has stat '^[[:space:]]*Base lid: 0$'
    has stat '^[[:space:]]*Link layer: Ethernet$'
    run_to_end status "${soft[@]}" ibstatus
    has status '^[[:space:]]*base lid:[[:space:]]+0x0$'
    has status '^[[:space:]]*link_layer:[[:space:]]+Ethernet$'
    is_silent stat status
}

# usage: pingpong PROGRAM OPTIONS...
pingpong() {
    need_program "$1"
    start server "${soft[@]}" "$@" -n 100
    await_port server 18515
    run_to_end client "${soft[@]}" "$@" -n 100 127.0.0.1
    await_end server
    has client '^100 iters in'
    is_silent server client
}

@test "ibv_rc_pingpong -g 3" { pingpong ibv_rc_pingpong -g 3; }
@test "ibv_uc_pingpong -g 1" { pingpong ibv_uc_pingpong -g 1; }
@test "ibv_ud_pingpong -g 2" { pingpong ibv_ud_pingpong -g 2; }
@test "ibv_ud_pingpong -g 3" { pingpong ibv_ud_pingpong -g 3; }

@test "ibv_rc_pingpong without a GID fails" {
    need_program ibv_rc_pingpong
    start server "${soft[@]}" ibv_rc_pingpong
    await_port server 18515
    never run_to_end client "${soft[@]}" ibv_rc_pingpong 127.0.0.1
    never await_end server
    grep -h 'Failed to modify QP to RTR' "$BATS_TEST_TMPDIR"/{server,client}.err
}

# usage: measure PROGRAM OPTIONS...
measure() {
    need_program "$1"
    start server "${soft[@]}" "$@" -F
    if [[ " $* " = *" -R "* ]]; then await_line server 'Waiting for client to connect'; else await_port server 18515; fi
    run_to_end client "${soft[@]}" "$@" -F 127.0.0.1
    await_end server
    has client 'Link type *: Ethernet'
}

@test "ib_write_bw -x 3" { measure ib_write_bw -n 200 -x 3; }
@test "ib_write_bw chooses a GID itself" { measure ib_write_bw -n 200; }
@test "ib_write_bw -R: rdma_cm chooses the GID" { measure ib_write_bw -n 200 -R; }
@test "ib_send_lat -x 3" { measure ib_send_lat -n 200 -x 3; }
@test "ib_send_lat -c UD chooses a GID itself" { measure ib_send_lat -n 200 -c UD; }

@test "rping" {
    need_program rping
    start server "${soft[@]}" rping -s -a 127.0.0.1 -p 7174 -d -C 5
    await_line server '^rdma_listen$'
    start client "${soft[@]}" rping -c -a 127.0.0.1 -p 7174 -v -C 5
    await_rping client
    [ "$(grep -c '^ping data: rdma-ping-[0-9]*:' "$BATS_TEST_TMPDIR/client.out")" -eq 5 ]
}

@test "ucmatose and udaddy" {
    for program in ucmatose udaddy; do
        need_program $program
        start server "${soft[@]}" $program -c 5 -C 10
        await_line server 'starting server'
        eventually run_to_end client "${soft[@]}" $program -c 5 -C 10 -s 127.0.0.1
        await_end server
        has client '^return status 0$'
    done
}

@test "mckey: the GID of an IPv4 group is its mapped address" {
    need_program mckey
    start receiver "${soft[@]}" mckey -m 239.1.2.3 -C 20
    await_line receiver '^receiving data transfers$'
    run_to_end sender "${soft[@]}" mckey -s -m 239.1.2.3 -C 20
    await_end receiver
    has receiver '^data transfers complete$'
    has sender '^mckey: joined dgid: ::ffff:239.1.2.3 '
}

# usage: ucx TRANSPORTS - UCX chooses the GID itself.
ucx() {
    need_program ucx_perftest
    local run=(env UCX_TLS="$1" UCX_NET_DEVICES=soft0:1 UCX_WARN_UNUSED_ENV_VARS=n "${soft[@]}" ucx_perftest -p 13337)
    start server "${run[@]}"
    await_port server 13337
    run_to_end client "${run[@]}" -t tag_lat -n 200 -w 10 127.0.0.1
    await_end server
    has client '^Final: +[0-9]+ +[0-9.]+ +[0-9.]+'
}
@test "ucx_perftest over rc" { ucx rc_verbs,ud_verbs; }
@test "ucx_perftest over ud" { ucx ud_verbs; }

@test "fi_pingpong -p verbs" {
    need_program fi_pingpong
    start server "${soft[@]}" fi_pingpong -p verbs -e msg -d soft0 -I 50 -S 4096
    await_port server 47592
    run_to_end client "${soft[@]}" fi_pingpong -p verbs -e msg -d soft0 -I 50 -S 4096 127.0.0.1
    await_end server
    has client '^4k +50 '
}

# usage: dtest_over PROVIDER IA_PARAMETERS [preload]
dtest_over() {
    use_stack ours "$@"
    stack+=(SOFTVERBS_LINK=roce)
    dtest_passes -b 4096
}
@test "Debian's dtest on soft0 without preload" { dtest_over libdaplsoft.so.2 'soft0 0'; }
@test "Debian's dtest over cma under the preload" { dtest_over libdaplofa.so.2 'soft0 0' preload; }
@test "Debian's dtest over scm: QP numbers travel with GIDs" { dtest_over libdaploscm.so.2 'soft0 1' preload; }

# Not over ucm: it takes the LID 0 of a server's address for no address, on Debian's libraries too.

# usage: converse PROVIDER - two ends with datagram endpoints.
converse() {
    local peer=$TOP_BUILDDIR/test/compat/.libs/ud_peer
    choose_stack ours "$1" soft0
    stack+=(SOFTVERBS_LINK=roce)
    # shellcheck disable=SC2034 # for run_both
    client_stack=("${stack[@]}")
    run_both "$BATS_TEST_TMPDIR/kept" "$lost_conversations" peer_listens "$peer" ia 45300 -- "$peer" ia 45300 127.0.0.1
    cat "$BATS_TEST_TMPDIR"/kept/*
    grep -qE '^received: event 0x40000, .* status 0, 55 bytes: from the client$' "$BATS_TEST_TMPDIR/kept/server.out"
    grep -qx end "$BATS_TEST_TMPDIR/kept/server.out"
}
@test "datagram endpoints over scm" { converse scm; }
@test "datagram endpoints over ucm" { converse ucm; }

@test "dat_ping by rdma_cm, by sockets and by datagrams" {
    local provider parameters server
    while read -r provider parameters; do
        use_stack ours "$provider" "$parameters" preload
        stack+=(SOFTVERBS_LINK=roce)
        start server "${stack[@]}" "$TOP_BUILDDIR/dat_ping" --listen -i ia
        await_line server '^listening at '
        server=$(sed -nE 's/^listening at ([^ ]+) .*/\1/p' "$BATS_TEST_TMPDIR/server.out")
        run_to_end ping "${stack[@]}" "$TOP_BUILDDIR/dat_ping" -i ia -W 60 -c 3 -i 0.01 "$server"
        has ping '^3 packets transmitted, 3 received'
        kill "${process_of[server]}"
        wait "${process_of[server]}" || true
    done <<'LINES'
libdaplofa.so.2 soft0 0
libdaploscm.so.2 soft0 1
libdaploucm.so.2 soft0 1
LINES
}

@test "dat_doctor finds no fault, and makes its transfer" {
    need_program jq
    use_stack ours libdaplsoft.so.2 'soft0 0'
    stack+=(SOFTVERBS_LINK=roce)
    local status=0
    start doctor "${stack[@]}" "$TOP_BUILDDIR/dat_doctor" --json
    wait "${process_of[doctor]}" || status=$?
    unset 'process_of[doctor]'
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ]  # 3: a warning about the machine
    jq -e '[.findings[] | select(.severity == "error")] == [] and (.checks | index("a transfer"))' "$BATS_TEST_TMPDIR/doctor.out"
}

@test "pyverbs" {
    /usr/bin/python3 -c 'import pyverbs' 2>/dev/null || missing "python3-pyverbs is not installed"
    local objects
    for objects in rc_transfer extended_transfer shared_receives_and_events connection_manager; do
        run_to_end script "${soft[@]}" /usr/bin/python3 "$TOP_SRCDIR/test/compat/pyverbs_objects.py" "$objects"
        is_silent script
    done
}

# usage: ring_of KIND COMMAND... - 4 ranks of an MPI, which reach each other by UCX over RC and UD alone.
ring_of() {
    local kind=$1
    shift
    run_to_end mpi env UCX_WARN_UNUSED_ENV_VARS=n UCX_NET_DEVICES=soft0:1 UCX_TLS=rc_verbs,ud_verbs,self \
        "${soft[@]}" "mpirun.$kind" -n 4 "$@" "$BATS_TEST_TMPDIR/ring"
    has mpi '^all 4 ranks are right$'
}
@test "Open MPI over UCX" {
    need_ring libopenmpi-dev openmpi
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    ring_of openmpi --oversubscribe --bind-to none --mca pml ucx --mca osc ucx
}
@test "MPICH over UCX" {
    need_ring libmpich-dev mpich
    export MPIR_CVAR_NOLOCAL=1
    ring_of mpich
}

@test "opendat.yaml chooses the link layer: for a program of DAT, and for softverbs run" {
    need_program ibv_devinfo
    printf 'softverbs:\n  link: roce\n' >"$BATS_TEST_TMPDIR/opendat.yaml"
    export OPENDAT_CONFIG=$BATS_TEST_TMPDIR/opendat.yaml
    use_stack ours libdaplsoft.so.2 'soft0 0'
    start server "${stack[@]}" "$TOP_BUILDDIR/dat_ping" --listen -i ia
    await_line server '^listening at '
    run_to_end info "$tool" run ibv_devinfo
    has info 'link_layer:[[:space:]]+Ethernet$'
    run_to_end ping "${stack[@]}" "$TOP_BUILDDIR/dat_ping" -i ia -W 60 -c 1 127.0.0.1
    unset OPENDAT_CONFIG
    never run_to_end other "$tool" run ibv_devinfo
    grep 'have the link layer roce, this process has infiniband.*DAT318' "$BATS_TEST_TMPDIR/other.err"
}

@test "a process with another link layer is refused, until the last one has ended" {
    need_program rping ibv_devinfo
    start server "${soft[@]}" rping -s -a 127.0.0.1 -p 7174 -C 1
    eventually test -S "$fabric/member-0"
    never run_to_end other "$tool" run ibv_devinfo
    grep 'have the link layer roce, this process has infiniband.*DAT318' "$BATS_TEST_TMPDIR/other.err"
    kill "${process_of[server]}"
    wait "${process_of[server]}" || true
    run_to_end other "$tool" run ibv_devinfo
    has other 'link_layer:[[:space:]]+InfiniBand$'
}

@test "softverbs run --link names the link layers that it knows" {
    local status=0
    "$tool" run --link token true 2>"$BATS_TEST_TMPDIR/usage" || status=$?
    [ "$status" -eq 125 ]
    grep "'token' is neither infiniband nor roce" "$BATS_TEST_TMPDIR/usage"
}
