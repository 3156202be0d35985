#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests what a user meets first: an adapter instance that does not open reports the reason in one
# line. These are the cases of a machine without RDMA devices; test/kernel/errors.bats has the rest.
# shellcheck disable=SC2154 # stack comes from the helpers
load helpers

open_ia=$TOP_BUILDDIR/test/compat/open_ia

setup() { start_network; }
teardown() { stop_all; }

no_rdma_device() {
    [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || skip "this machine has RDMA devices"
}

# usage: opens PROVIDER IA_PARAMETERS CODE - expects the open to end with CODE; its messages stay in
# ia.err.
opens() {
    use_stack ours "$1" "$2"
    run_to_end ia "${stack[@]}" "$open_ia" ia
    prints ia <<<"ia_open: $3"
}

says_one_line() {
    [ "$(wc -l <"$BATS_TEST_TMPDIR/ia.err")" -eq 1 ]
    grep -qE "^opendat: $1\$" "$BATS_TEST_TMPDIR/ia.err"
}

no_device="error: IA ia cannot be opened: this machine has no RDMA device: /sys/class/infiniband (does not exist|is empty); \
load its driver, add a software one with \`rdma link add rxe0 type rxe netdev INTERFACE\`, or use soft0 of libdaplsoft\.so\.2 \[DAT240\]"

@test "libdaplofa on a machine without RDMA devices says so in one line, whatever interface is named" {
    no_rdma_device
    for parameters in 'lo 0' 'ib0 0' '127.0.0.1 0' 'mlx5_0 1' 'localhost 0' '192.0.2.1 0'; do
        opens libdaplofa.so.2 "$parameters" 0x00040000
        says_one_line "$no_device"
    done
}

@test "libdaploscm on a machine without RDMA devices says so in one line, whatever device is named" {
    no_rdma_device
    for parameters in 'mlx5_0 1' 'soft0 1' 'lo 0' 'mlx5_0 77'; do
        opens libdaploscm.so.2 "$parameters" 0x00040000
        says_one_line "$no_device"
    done
}

@test "libdaploscm over softverbs: an unknown device, and a port that soft0 does not have" {
    no_rdma_device
    use_stack ours libdaploscm.so.2 'soft1 1' preload
    run_to_end ia "${stack[@]}" "$open_ia" ia
    says_one_line "error: IA ia cannot be opened: there is no RDMA device 'soft1', only soft0; correct the parameters of this IA in \
dat\.conf; did you mean soft0\? \[DAT243\]"
    use_stack ours libdaploscm.so.2 'soft0 2' preload
    run_to_end ia "${stack[@]}" "$open_ia" ia
    prints ia <<<'ia_open: 0x00040000'
    says_one_line "error: IA ia cannot be opened: '2' is not a port: soft0 has port 1 only; correct the parameters of this IA in dat\.conf \
\[DAT247\]"
}

@test "libdaploscm over softverbs shows device, port, MTU and GID at trace level 5" {
    no_rdma_device
    use_stack ours libdaploscm.so.2 'soft0 1' preload
    run_to_end ia "${stack[@]}" DAPL_TRACE_LEVEL=5 "$open_ia" ia
    prints ia <<<'ia_open: 0x00000000'
    [ "$(grep -cE '^opendat: debug: IA ia uses device soft0 port 1 \([A-Za-z]+, active, MTU 4096\), GID index 0 \(' \
        "$BATS_TEST_TMPDIR/ia.err")" -eq 1 ]
}

@test "libdaplsoft: an unknown name, with the one that there is" {
    opens libdaplsoft.so.2 'soft 0' 0x00120000
    says_one_line "error: IA ia cannot be opened: 'soft' is not a network interface, RDMA device, address or host name of this machine, \
which has the software device soft0; correct the parameters of this IA in dat\.conf; did you mean soft0\? \[DAT202\]"
}

@test "libdaplsoft: one device more than there are" {
    SOFTVERBS_DEVICES=3 opens libdaplsoft.so.2 'soft3 0' 0x00120000
    says_one_line "error: IA ia cannot be opened: 'soft3' is not a network interface, RDMA device, address or host name of this machine, \
which has the software devices soft0 to soft2; correct the parameters of this IA in dat\.conf; did you mean soft0\? SOFTVERBS_DEVICES is the number of devices \[DAT202\]"
}

@test "the software device needs no locked memory: nothing is said of its limit" {
    use_stack ours libdaplsoft.so.2 'soft0 0'
    local unprivileged=()
    # Root is not bound by the limit while it may raise it.
    ! setpriv --bounding-set=-ipc_lock true 2>/dev/null || unprivileged=(setpriv --bounding-set=-ipc_lock)
    run_to_end ia "${unprivileged[@]}" bash -c 'ulimit -l 64 && exec "$@"' limited "${stack[@]}" "$open_ia" ia 1048576
    prints ia <<'LINES'
ia_open: 0x00000000
lmr_create: 0x00000000
LINES
    is_silent ia
}
