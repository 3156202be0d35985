# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For tests on the kernel's RDMA devices, inside the machine. The guest belongs to the test, so
# nothing else uses its ports. A device sends from the first network name space only, so the
# programs run there without one of their own.
#
#     setup() { use_device ours cma rxe0; }
#     teardown() { stop_all; }
#     @test "..." { start server "${stack[@]}" PROGRAM...; ... }
load ../compat/helpers

# shellcheck disable=SC2034 # for ../compat/helpers
enter_network=()

# usage: use_device debian|ours cma|scm|ucm DEVICE - chooses the libraries and the device of commands
# that have ${stack[@]} in front; the IA is named `ia`, and a peer finds it at $server_address.
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
        ucm) use_stack "$1" libdaploucm.so.2 "$3 1" && stack+=("DAT_TEST_ADDRESS_FILE=$BATS_TEST_TMPDIR/address") ;;
    esac
}

# The kernel frees what a process leaves on a device.
fabric_is_clean() {
    true
}

# usage: use_wire debian|ours cma|scm|ucm - for a pair at the ends of the cable: sets ${active[@]} on
# rxe1 and ${passive[@]} on rxe2, which is at $server_address. Needs `# machine: --wire`.
# shellcheck disable=SC2034,SC2154 # for the tests; from ../compat/helpers
use_wire() {
    use_device "$1" "$2" rxe1
    mv "$BATS_TEST_TMPDIR/dat.conf" "$BATS_TEST_TMPDIR/active.conf"
    active=("${stack[@]/dat.conf/active.conf}")
    use_device "$1" "$2" rxe2
    passive=("${stack[@]}")
}

# usage: lose PERCENT active|passive... - loses PERCENT of the packets that these sides send.
lose() {
    local percent=$1 side
    shift
    for side in "$@"; do
        tc qdisc replace dev "$(interface_of "$side")" root netem loss "$percent%"
    done
}

interface_of() {
    [ "$1" = active ] && echo veth2 || echo veth3
}

# Takes the active side's interface down, so that the other one has no carrier.
pull_plug() {
    ip link set veth2 down
}

# Restores the link; nobody may be left on the devices, which are made anew: rxe's queue pair for
# connection management may have stayed in error after it had something to send while the link was
# down. The kernel has dropped the route of the interface that was down.
plug_in() {
    rdma link delete rxe1
    rdma link delete rxe2
    ip link set veth2 up
    ip route replace 10.77.1.2/32 dev veth2 src 10.77.1.1 table 102
    rdma link add rxe1 type rxe netdev veth2
    rdma link add rxe2 type rxe netdev veth3
}

mend_wire() {
    [ "$(cat /sys/class/net/veth2/operstate)" = up ] || plug_in
    tc qdisc del dev veth2 root 2>/dev/null || true
    tc qdisc del dev veth3 root 2>/dev/null || true
}

# shellcheck disable=SC2154 # from ../compat/helpers
# usage: program_of NAME - prints the process that `start` has started, behind the timeout in front
# of it.
program_of() {
    pgrep -P "${process_of[$1]}"
}
