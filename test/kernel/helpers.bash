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
# Servers run in the second machine, where there is one.
# shellcheck disable=SC2034
[ "$(hostname)" != machine1 ] || elsewhere=("$TOP_SRCDIR/test/kernel/remote")

# usage: use_device debian|ours cma|scm|ucm DEVICE - chooses the libraries and the device of commands
# that have ${stack[@]} in front; the IA is named `ia`, and a client finds the server's at
# $server_address.
# shellcheck disable=SC2034 # for the tests
use_device() {
    local interface leave_address=$BATS_TEST_TMPDIR/address
    case $3${elsewhere:+ of the second machine} in
        rxe0) interface=veth0 server_address=10.77.0.1 ;;
        siw0) interface=veth1 server_address=10.77.0.2 ;;
        rxe1) interface=veth2 server_address=10.77.1.1 ;;
        rxe2) interface=veth3 server_address=10.77.1.2 ;;
        rxe0*) interface=veth0 server_address=10.78.0.2 ;;
        siw0*) interface=veth1 server_address=10.78.1.2 ;;
    esac
    # Both machines see the shared directory.
    [ ${#elsewhere[@]} -eq 0 ] || { leave_address=$TOP_BUILDDIR/test/kernel/address && rm -f "$leave_address"; }
    case $2 in
        cma) use_stack "$1" libdaplofa.so.2 "$interface 0" ;;
        scm) use_stack "$1" libdaploscm.so.2 "$3 1" && stack+=("DAPL_SCM_NETDEV=$interface") ;;
        ucm) use_stack "$1" libdaploucm.so.2 "$3 1" && stack+=("DAT_TEST_ADDRESS_FILE=$leave_address") ;;
    esac
    [ ${#elsewhere[@]} -eq 0 ] || give "$BATS_TEST_TMPDIR/dat.conf"
}

# usage: give FILE - copies it to the second machine, under the same name.
give() {
    # shellcheck disable=SC2016,SC2094 # for the other machine; another file
    "${elsewhere[@]}" sh -c 'mkdir -p "$(dirname "$1")" && cat >"$1"' give "$1" <"$1"
}

# usage: our_dtest_passes OPTIONS... - both ends must report success, without a warning.
our_dtest_passes() {
    local side
    start_serving "$TOP_BUILDDIR/.libs/dtest" -s -P ia "$@"
    await_port server 15828  # a client that has to wait long prints a message
    start client "${stack[@]}" "$TOP_BUILDDIR/.libs/dtest" -h "$server_address" "$@"
    await_end client
    await_end server
    for side in server client; do has "$side" 'DAPL Test Complete\. PASSED$'; done
    is_silent server client
}

# usage: our_dtest_ext_passes PASSED NOT_AVAILABLE - both ends must report success, with so many checks.
our_dtest_ext_passes() {
    local side
    start_serving "$TOP_BUILDDIR/.libs/dtest_ext" -s -P ia
    start client "${stack[@]}" "$TOP_BUILDDIR/.libs/dtest_ext" -h "$server_address"
    await_end client
    await_end server
    for side in server client; do
        has "$side" "^$1 checks passed, $2 not available\$"
        has "$side" '^ IB extension test - immed/atomic test PASSED$'
    done
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

# usage: use_machines debian|ours cma|scm|ucm DEVICE - for a pair on two machines: sets ${active[@]} here and
# ${passive[@]} on the second one, which is at $server_address. Needs `# machine: --two`.
# shellcheck disable=SC2034 # for the tests
use_machines() {
    use_device "$1" "$2" "$3"
    active=("${stack[@]}")
    passive=("${elsewhere[@]}" "${stack[@]}")
}

# usage: on active|passive COMMAND... - runs it on the machine of this side.
on() {
    local machine=()
    [ "$1" = active ] || machine=("${elsewhere[@]}")
    "${machine[@]}" "${@:2}"
}

# usage: lose PERCENT active|passive... - loses PERCENT of the packets that these sides send.
lose() {
    local percent=$1 side
    shift
    for side in "$@"; do
        impair "$side" loss "$percent%"
    done
}

# usage: impair active|passive NETEM_OPTION... - what happens to the packets that this side sends: tc-netem(8).
impair() {
    local interface
    for interface in $(interfaces_of "$1"); do
        on "$1" tc qdisc replace dev "$interface" root netem limit 100000 "${@:2}"
    done
}

# A round trip takes 20 ms longer.
delay_wire() {
    impair active delay 10ms
    impair passive delay 10ms
}

# Lets nothing through in either direction, from one moment on.
cut() {
    if [ ${#elsewhere[@]} -eq 0 ]; then
        lose 100 active passive
        return
    fi
    local interface direction
    for interface in $(interfaces_of active); do
        tc qdisc add dev "$interface" clsact
        for direction in ingress egress; do tc filter add dev "$interface" "$direction" matchall action drop; done
    done
}

interfaces_of() {
    if [ ${#elsewhere[@]} -gt 0 ]; then
        echo veth0 veth1
    elif [ "$1" = active ]; then
        echo veth2
    else
        echo veth3
    fi
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
    local side interface
    [ ${#elsewhere[@]} -eq 0 ] || ip link set veth0 mtu 4500
    [ ! -e /sys/class/net/veth2 ] || [ "$(cat /sys/class/net/veth2/operstate)" = up ] || plug_in
    for side in active passive; do
        for interface in $(interfaces_of "$side"); do
            [ "$side" = passive ] || tc qdisc del dev "$interface" clsact 2>/dev/null || true
            on "$side" tc qdisc del dev "$interface" root 2>/dev/null || true
        done
    done
}

# The teardown of tests that disturb the wire.
end_on_wire() {
    stop_all
    mend_wire
}

# shellcheck disable=SC2154 # from ../compat/helpers
# usage: program_of NAME - prints the process that `start` has started, behind the timeout in front
# of it.
program_of() {
    pgrep -P "${process_of[$1]}"
}
