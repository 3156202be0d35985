#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Mixes our registry and the reference's with the providers of both in one process, on RDMA devices
# of the kernel.
load helpers

setup() {
    need_program dtest
    need_library libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2
    ours=$TOP_BUILDDIR/.libs
    # Debian's server sends first, which iWARP forbids: if its message arrives too early, siw ends
    # the connection.
    lost_races+='|unexpected conn event : 0x4008'
}
teardown() { stop_all; }

# usage: mixed debian|ours LIBRARY PROVIDER DEVICE - runs a whole dtest, which opens and closes,
# with this libdat2 and this provider library.
mixed() {
    use_device "$1" "$3" "$4"
    sed -i "s#default [^ ]*#default $2#" "$BATS_TEST_TMPDIR/dat.conf"
    dtest_passes -b 4096
}

@test "Debian's libdat2 with our libdaplofa on rxe0" { mixed debian "$ours/libdaplofa.so.2" cma rxe0; }
@test "our libdat2 with Debian's libdaplofa on rxe0" { mixed ours "$(installed libdaplofa.so.2)" cma rxe0; }
@test "Debian's libdat2 with our libdaplofa on siw0" { mixed debian "$ours/libdaplofa.so.2" cma siw0; }
@test "our libdat2 with Debian's libdaplofa on siw0" { mixed ours "$(installed libdaplofa.so.2)" cma siw0; }
@test "Debian's libdat2 with our libdaploscm on rxe0" { mixed debian "$ours/libdaploscm.so.2" scm rxe0; }
@test "our libdat2 with Debian's libdaploscm on rxe0" { mixed ours "$(installed libdaploscm.so.2)" scm rxe0; }
