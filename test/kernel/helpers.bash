# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For tests on the kernel's RDMA devices, inside the machine. The guest is the test's own: nothing else uses its ports, and a device
# sends from the first network name space only, so the programs run there as they are.
#
#     setup() { use_device ours cma rxe0; }
#     teardown() { stop_all; }
#     @test "..." { start server "${stack[@]}" PROGRAM...; ... }
load ../compat/helpers

# shellcheck disable=SC2034 # for ../compat/helpers
enter_network=()

# usage: use_device debian|ours cma|scm DEVICE - which libraries and device the commands that ${stack[@]} is put in front of shall
# use; the IA is named `ia`, and $server_address is where a peer finds it.
# shellcheck disable=SC2034 # for the tests
use_device() {
    local interface
    case $3 in
        rxe0) interface=veth0 server_address=10.77.0.1 ;;
        siw0) interface=veth1 server_address=10.77.0.2 ;;
        rxe1) interface=veth2 server_address=10.77.1.1 ;;
        rxe2) interface=veth3 server_address=10.77.1.2 ;;
    esac
    case $2 in
        cma) use_stack "$1" libdaplofa.so.2 "$interface 0" ;;
        scm) use_stack "$1" libdaploscm.so.2 "$3 1" && stack+=("DAPL_SCM_NETDEV=$interface") ;;
    esac
}

# The kernel frees what a process leaves on a device.
fabric_is_clean() {
    true
}
