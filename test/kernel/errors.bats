#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests what can be wrong with a device. Each fault is reported in one line of standard error, which
# is compared whole, and by the code of dat_ia_open. Faults are made in the guest and repaired in
# teardown.
# shellcheck disable=SC2154 # stack comes from the helpers
load helpers

# An ordinary user may not read the directories of the build and of bats.
place=/run/errors
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
to_raise="raise the limit (\`ulimit -l\`, memlock in /etc/security/limits.conf, LimitMEMLOCK= of a systemd service)"

setup_file() {
    local library
    mkdir -p "$place"
    for library in libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2; do
        cp -L "$TOP_BUILDDIR/.libs/$library" "$place"
    done
    cp "$TOP_BUILDDIR/test/compat/.libs/open_ia" "$place"
    ip link add dummy0 type dummy
    ip address add 10.88.0.1/24 dev dummy0
    ip link set dummy0 up
    ip link add dummy1 type dummy
}

teardown() {
    [ ! -e "$place/nodes" ] || mv "$place"/nodes/* /dev/infiniband/
    rm -rf "$place/nodes" /etc/modprobe.d/errors.conf
    modprobe rdma_ucm
    chmod 755 /dev/infiniband
    chgrp root /dev/infiniband/uverbs*
    chmod 666 /dev/infiniband/rdma_cm /dev/infiniband/uverbs*
    ip link set veth0 up
    ip address replace 10.77.0.1/24 dev veth0
    # A link that goes down loses its IPv6 addresses.
    ip address replace fd77::1/64 dev veth0 nodad
    ! rdma dev show iwarp7 >/dev/null 2>&1 || rdma dev set iwarp7 name siw0
    rdma link show rxe0/1 >/dev/null 2>&1 || rdma link add rxe0 type rxe netdev veth0
    rdma link show siw0/1 >/dev/null 2>&1 || rdma link add siw0 type siw netdev veth1
    eventually port_is_active rxe0
    eventually port_is_active siw0
    stop_all
}

port_is_active() {
    rdma link show "$1/1" | grep -q 'state ACTIVE'
}

# usage: ia PROVIDER_FILE IA_PARAMETERS [VARIABLE=VALUE...] - sets what `opens` is to open.
ia() {
    printf 'ia u2.0 nonthreadsafe default %s dapl.2.0 "%s" ""\n' "$1" "$2" >"$place/dat.conf"
    stack=(env "DAT_OVERRIDE=$place/dat.conf" "LD_LIBRARY_PATH=$place" "${@:3}")
}
cma() { ia libdaplofa.so.2 "$@"; }
scm() { ia libdaploscm.so.2 "$@"; }

# usage: opens CODE LINE [COMMAND...] - dat_ia_open must return CODE and print nothing but LINE.
# COMMAND runs the program, for example as another user.
opens() {
    run_to_end ia "${@:3}" "${stack[@]}" "$place/open_ia" ia
    prints ia <<<"ia_open: $1"
    says "$2"
}

says() {
    local said
    said=$(cat "$BATS_TEST_TMPDIR/ia.err")
    [ "$said" = "${1:+opendat: $1}" ] || { printf 'wanted: opendat: %s\n' "$1"; return 1; }
}

refused='error: IA ia cannot be opened:'

@test "without any RDMA device: the machine has none, whatever is named" {
    rdma link delete rxe0
    rdma link delete siw0
    local none="$refused this machine has no RDMA device: /sys/class/infiniband is empty; load its driver, add a software one with \
\`rdma link add rxe0 type rxe netdev INTERFACE\`, or use soft0 of libdaplsoft.so.2 [DAT240]"
    cma 'veth0 0'
    opens 0x00040000 "$none"
    cma 'nonesuch 0'
    opens 0x00040000 "$none"
    scm 'rxe0 1'
    opens 0x00040000 "$none"
}

@test "cma: a name that is nothing here, with what there is and the nearest" {
    cma 'veth00 0'
    opens 0x00120000 "$refused 'veth00' is not a network interface, RDMA device, address or host name of this machine, which has rxe0 \
(veth0), siw0 (veth1); correct the parameters of this IA in dat.conf; did you mean veth0? [DAT202]"
    cma '192.0.2.1 0'
    opens 0x00120000 "$refused '192.0.2.1' is not a network interface, RDMA device, address or host name of this machine, which has rxe0 \
(veth0), siw0 (veth1); correct the parameters of this IA in dat.conf; \`ip address\` lists this machine's addresses [DAT202]"
}

@test "scm: an unknown device, with those there are and the nearest" {
    scm 'rxe7 1'
    opens 0x00040000 "$refused there is no RDMA device 'rxe7', only rxe0, siw0; correct the parameters of this IA in dat.conf; did you \
mean rxe0? [DAT243]"
}

@test "cma: interfaces without an RDMA device, with those that have one and the command that makes one" {
    cma 'lo 0'
    opens 0x00120000 "$refused network interface lo has no RDMA device; the devices are rxe0 (veth0), siw0 (veth1); name one of these \
interfaces in dat.conf, or add a device with \`rdma link add rxe_lo type rxe netdev lo\` [DAT251]"
    cma 'dummy0 0'
    opens 0x00120000 "$refused network interface dummy0 has no RDMA device; the devices are rxe0 (veth0), siw0 (veth1); name one of these \
interfaces in dat.conf, or add a device with \`rdma link add rxe_dummy0 type rxe netdev dummy0\` [DAT251]"
    cma '10.88.0.1 0'
    opens 0x00120000 "$refused network interface dummy0 has no RDMA device; the devices are rxe0 (veth0), siw0 (veth1); name one of these \
interfaces in dat.conf, or add a device with \`rdma link add rxe_dummy0 type rxe netdev dummy0\` [DAT251]"
}

@test "cma: an interface without an address, named by itself and by its device" {
    cma 'dummy1 0'
    opens 0x00120000 "$refused network interface dummy1 has no IP address; \`ip address add ADDRESS/BITS dev dummy1\` [DAT252]"
    ip address flush dev veth0
    cma 'veth0 0'
    opens 0x00120000 "$refused network interface veth0 has no IP address; \`ip address add ADDRESS/BITS dev veth0\` [DAT252]"
    cma 'rxe0 0'
    opens 0x00120000 "$refused network interface veth0 of rxe0 has no IP address; \`ip address add ADDRESS/BITS dev veth0\` [DAT252]"
}

@test "a port number that the device does not have" {
    scm 'rxe0 2'
    opens 0x00040000 "$refused '2' is not a port: rxe0 has port 1 only; correct the parameters of this IA in dat.conf [DAT247]"
    scm 'rxe0 first'
    opens 0x00040000 "$refused 'first' is not a port: rxe0 has port 1 only; correct the parameters of this IA in dat.conf [DAT247]"
    rdma dev set siw0 name iwarp7 # not also a host name in the guest's /etc/hosts
    cma 'iwarp7 2'
    opens 0x00040000 "$refused '2' is not a port: iwarp7 has port 1 only; correct the parameters of this IA in dat.conf [DAT247]"
}

@test "a port that is down opens with a warning, and without one when it is up again" {
    ip link set veth0 down
    local down="warning: IA ia: port 1 of RDMA device rxe0 is down: no connection is possible until it is active; \`ip link set veth0 \
up\`, and check the cable [DAT248]"
    cma 'veth0 0'
    opens 0x00000000 "$down"
    scm 'rxe0 1'
    opens 0x00000000 "$down"
    ip link set veth0 up
    eventually port_is_active rxe0
    opens 0x00000000 ''
    cma 'veth0 0'
    opens 0x00000000 ''
}

@test "a device file that another user may not open, with its mode and owner" {
    local private="Permission denied; mode 0000, owner root, group root; this process runs as nobody;"
    local remedy='as root, the mode that the udev rules of rdma-core give it [DAT245]'
    chmod 000 /dev/infiniband/uverbs*
    cma 'veth0 0'
    opens 0x00040000 "$refused /dev/infiniband/uverbs0: $private \`chmod 666 /dev/infiniband/uverbs0\` $remedy" "${nobody[@]}"
    scm 'rxe0 1'
    opens 0x00040000 "$refused /dev/infiniband/uverbs0: $private \`chmod 666 /dev/infiniband/uverbs0\` $remedy" "${nobody[@]}"
    chmod 666 /dev/infiniband/uverbs*
    opens 0x00000000 '' "${nobody[@]}"
    chmod 000 /dev/infiniband/rdma_cm
    opens 0x00000000 '' "${nobody[@]}"
    cma 'veth0 0'
    opens 0x00040000 "$refused /dev/infiniband/rdma_cm: $private \`chmod 666 /dev/infiniband/rdma_cm\` $remedy" "${nobody[@]}"
}

@test "a device file of a group, which the user is told to join" {
    chgrp audio /dev/infiniband/uverbs*
    chmod 660 /dev/infiniband/uverbs*
    scm 'rxe0 1'
    opens 0x00040000 "$refused /dev/infiniband/uverbs0: Permission denied; mode 0660, owner root, group audio; this process runs as \
nobody; join the group audio (\`usermod -aG audio nobody\`) and log in again [DAT245]" "${nobody[@]}"
}

@test "/dev/infiniband that another user may not enter" {
    chmod 000 /dev/infiniband
    local closed="$refused /dev/infiniband: Permission denied; mode 0000, owner root, group root; this process runs as nobody; \`chmod \
755 /dev/infiniband\` as root [DAT245]"
    cma 'veth0 0'
    opens 0x00040000 "$closed" "${nobody[@]}"
    scm 'rxe0 1'
    opens 0x00040000 "$closed" "${nobody[@]}"
}

@test "a device file that is missing" {
    local remedy="let udev create it (\`udevadm trigger\`), or give it to the container (\`--device\`) [DAT244]"
    mkdir "$place/nodes"
    mv /dev/infiniband/rdma_cm "$place/nodes"
    cma 'veth0 0'
    opens 0x00040000 "$refused /dev/infiniband/rdma_cm: No such file or directory; it is needed for connections; $remedy"
    mv /dev/infiniband/uverbs0 "$place/nodes"
    scm 'rxe0 1'
    opens 0x00040000 "$refused /dev/infiniband/uverbs0: No such file or directory; it is needed for rxe0; $remedy"
    mv "$place/nodes/rdma_cm" /dev/infiniband
    cma 'veth0 0'
    opens 0x00040000 "$refused /dev/infiniband/uverbs0: No such file or directory; it is needed for rxe0; $remedy"
}

# ib_uverbs cannot be unloaded, because rdma_rxe and siw need it
# (test/device/kernel_devices_test.cpp has that case).
@test "the kernel module rdma_ucm that is not loaded: scm does without it" {
    printf 'install %s /bin/false\n' rdma_ucm >/etc/modprobe.d/errors.conf
    modprobe -r rdma_ucm
    cma 'veth0 0'
    opens 0x00040000 "$refused the RDMA connection manager cannot be used: the kernel module rdma_ucm is not loaded; \`modprobe \
rdma_ucm\` [DAT201]"
    scm 'rxe0 1'
    opens 0x00000000 ''
}

@test "the limit of locked memory, at a registration that an ordinary user makes" {
    local device
    for device in rxe0 siw0; do
        [ "$device" = rxe0 ] && cma 'veth0 0' || cma 'veth1 0'
        run_to_end ia "${nobody[@]}" bash -c 'ulimit -l 64 && exec "$@"' limited "${stack[@]}" "$place/open_ia" ia 1048576
        prints ia <<'LINES'
ia_open: 0x00000000
lmr_create: 0x00030000
LINES
        says "warning: device $device cannot register 1024 KiB: the limit of locked memory is 64 KiB, of which devices hold 0 KiB \
(other locked memory: 0 KiB); $to_raise [DAT104]"
    done
    run_to_end ia "${nobody[@]}" bash -c 'ulimit -l 64 && exec "$@"' limited "${stack[@]}" "$place/open_ia" ia 4096
    prints ia <<'LINES'
ia_open: 0x00000000
lmr_create: 0x00000000
LINES
    says ''
}

@test "scm: DAPL_GID_INDEX beyond what the table has" {
    scm 'rxe0 1' DAPL_GID_INDEX=77
    opens 0x00040000 "$refused DAPL_GID_INDEX is 77, but port 1 of rxe0 has entries at 0, 1, 2; correct the value or unset the variable \
[DAT250]"
}

@test "the choice stands on one line at trace level 5: device, port, MTU, GID, its type and why" {
    cma 'veth0 0' DAPL_TRACE_LEVEL=5
    shows 'rxe0 port 1 (RoCE, active, MTU 4096), GID index 1 (::ffff:10.77.0.1, RoCE v2: the IA'\''s address)'
    cma 'rxe0 1' DAPL_TRACE_LEVEL=5
    shows 'rxe0 port 1 (RoCE, active, MTU 4096), GID index 1 (::ffff:10.77.0.1, RoCE v2: the IA'\''s address)'
    cma 'veth1 0' DAPL_TRACE_LEVEL=5
    shows 'siw0 port 1 (iWARP, active, MTU 4096)'
    scm 'rxe0 1' DAPL_TRACE_LEVEL=5
    shows 'rxe0 port 1 (RoCE, active, MTU 4096), GID index 1 (::ffff:10.77.0.1, RoCE v2: RoCE v2 before v1, routable before link-local)'
    scm 'rxe0 1' DAPL_TRACE_LEVEL=5 DAPL_GID_INDEX=2
    shows 'rxe0 port 1 (RoCE, active, MTU 4096), GID index 2 (fd77::1, RoCE v2: selected by DAPL_GID_INDEX)'
}

# usage: shows TEXT - TEXT must be there once among the lines of this level.
shows() {
    run_to_end ia "${stack[@]}" "$place/open_ia" ia
    prints ia <<<'ia_open: 0x00000000'
    [ "$(grep -cxF "opendat: debug: IA ia uses device $1" "$BATS_TEST_TMPDIR/ia.err")" -eq 1 ]
    [ "$(grep -c 'uses device' "$BATS_TEST_TMPDIR/ia.err")" -eq 1 ]
}

@test "scm: without addresses the GID that the hardware address makes is left, and used" {
    ip address flush dev veth0
    scm 'rxe0 1' DAPL_TRACE_LEVEL=5
    run_to_end ia "${stack[@]}" "$place/open_ia" ia
    prints ia <<<'ia_open: 0x00000000'
    grep -q 'GID index 0 (fe80:' "$BATS_TEST_TMPDIR/ia.err"
}

@test "several at once: the first cause alone is told" {
    ip link set veth0 down
    chmod 000 /dev/infiniband/uverbs*
    local first="$refused /dev/infiniband/uverbs0: Permission denied; mode 0000, owner root, group root; this process runs as nobody; \
\`chmod 666 /dev/infiniband/uverbs0\` as root, the mode that the udev rules of rdma-core give it [DAT245]"
    scm 'rxe0 77' DAPL_GID_INDEX=99
    opens 0x00040000 "$first" "${nobody[@]}"
    cma 'nonesuch 0'
    opens 0x00040000 "$first" "${nobody[@]}"
    chmod 666 /dev/infiniband/uverbs*
    scm 'rxe0 77' DAPL_GID_INDEX=99
    opens 0x00040000 "$refused '77' is not a port: rxe0 has port 1 only; correct the parameters of this IA in dat.conf [DAT247]" "${nobody[@]}"
}
