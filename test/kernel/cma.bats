#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests libdaplofa on rxe0 (RoCE) and siw0 (iWARP): every way to name a device, both IP versions,
# and where the transports differ. The programs are those of test/api, which see only the installed
# headers.
# shellcheck disable=SC2154 # stack comes from the helpers
load helpers

teardown() { stop_all; }

# usage: works PROGRAM IA_PARAMETERS [VARIABLE=VALUE...] - runs the test program on an IA with these
# parameters.
works() {
    local program=$1
    use_stack ours libdaplofa.so.2 "$2"
    shift 2
    run_to_end program "${stack[@]}" DAT_TEST_IA=ia "$@" "$TOP_BUILDDIR/$program"
}
# usage: reaches IA_PARAMETERS - such an IA must exchange addresses and data with another.
reaches() {
    works test/api/addresses_test "$1"
    is_silent program
}
link_local_of() {
    ip -6 -o address show dev "$1" scope link | awk '{ sub("/.*", "", $4); print $4 }'
}

@test "rxe0 by interface name"            { reaches "veth0 0"; }
@test "rxe0 by IPv4 address"              { reaches "10.77.0.1 0"; }
@test "rxe0 by IPv6 address"              { reaches "fd77::1 0"; }
@test "rxe0 by link-local IPv6 address"   { reaches "$(link_local_of veth0)%veth0 0"; }
@test "rxe0 by verbs device name"         { reaches "rxe0"; }
@test "rxe0 by verbs device name and port" { reaches "rxe0 1"; }
@test "siw0 by interface name"            { reaches "veth1 0"; }
@test "siw0 by IPv4 address"              { reaches "10.77.0.2 0"; }
@test "siw0 by IPv6 address"              { reaches "fd77::2 0"; }
@test "siw0 by link-local IPv6 address"   { reaches "$(link_local_of veth1)%veth1 0"; }
@test "siw0 by verbs device name"         { reaches "siw0"; }
@test "siw0 by verbs device name and port" { reaches "siw0 1"; }

@test "a host name of this machine, IPv4 first, and one that is IPv6 alone" {
    printf '%s\n' 'fd77::1 both.test' '10.77.0.1 both.test' 'fd77::1 six.test' >>/etc/hosts
    reaches "both.test 0"
    reaches "six.test 0"
}

@test "an interface that has IPv6 addresses alone, and its verbs device, whose GID table has a hole then" {
    ip address del 10.77.0.1/24 dev veth0
    [ -z "$(cat /sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1 2>/dev/null)" ]
    reaches "veth0 0"
    reaches "rxe0 1"
    ip address add 10.77.0.1/24 dev veth0
}

@test "a port that a verbs device does not have is refused in one line" {
    use_stack ours libdaplofa.so.2 "rxe0 7"
    start program "${stack[@]}" "$TOP_BUILDDIR/.libs/dtest" -s -P ia
    never await_end program
    grep -q "'7' is not a port: rxe0 has port 1 only.*DAT247" "$BATS_TEST_TMPDIR/program.err"
}

@test "rxe0: private data, zero-length transfers, read segments, extensions, who sends first, refusals" {
    works test/api/transport_test "veth0 0" DAT_TEST_ADDRESS=10.77.0.1
}
@test "siw0: private data, zero-length transfers, read segments, extensions, who sends first, refusals" {
    works test/api/transport_test "veth1 0" DAT_TEST_ADDRESS=10.77.0.2
}
@test "siw0: a peer whose machine drops TCP connections holds up nobody" {
    works test/kernel/hanging_connect "veth1 0" DAT_TEST_ADDRESS=10.77.0.2
}

@test "an address that nobody has is unreachable once, with the tries that were made" {
    works test/api/connection_test "veth0 0" DAT_TEST_ADDRESS=10.77.0.1 DAT_TEST_NOBODY=10.77.0.99 \
        DAPL_CM_ARP_TIMEOUT_MS=300 DAPL_CM_ARP_RETRY_COUNT=3 DAT_TEST_TRIES='tries 3, ' \
        GTEST_FILTER=Connections.an_address_of_no_machine_here_is_unreachable_and_one_message_says_why
    grep -q '^ok' "$BATS_TEST_TMPDIR/program.out"
}
