#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Combines our registry and the reference's with the providers of both, in every combination. Each
# pair runs a whole dtest, which opens and closes.
load helpers

setup() {
    need_program dtest
    need_library libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2 libdaploucm.so.2
    start_network
    ours=$TOP_BUILDDIR/.libs
    export DAPL_SCM_NETDEV=lo
}
teardown() { stop_all; }

@test "Debian's libdat2 with our libdaplsoft on soft0" {
    use_stack debian "$ours/libdaplsoft.so.2" 'soft0 0'
    dtest_passes -b 4096
}
@test "Debian's libdat2 with our libdaplofa on soft0" {
    use_stack debian "$ours/libdaplofa.so.2" 'lo 0' preload
    dtest_passes -b 4096
}
@test "our libdat2 with Debian's libdaplofa on soft0" {
    use_stack ours "$(installed libdaplofa.so.2)" 'lo 0' preload
    dtest_passes -b 4096
}
@test "our libdat2 with Debian's libdaploscm on soft0" {
    use_stack ours "$(installed libdaploscm.so.2)" 'soft0 1' preload
    dtest_passes -b 4096
}
@test "Debian's libdat2 with our libdaploscm on soft0" {
    use_stack debian "$ours/libdaploscm.so.2" 'soft0 1' preload
    dtest_passes -b 4096
}
@test "our libdat2 with our libdaploscm on soft0" {
    use_stack ours "$ours/libdaploscm.so.2" 'soft0 1' preload
    dtest_passes -b 4096
}
@test "our libdat2 with Debian's libdaploucm on soft0" {
    use_stack ours "$(installed libdaploucm.so.2)" 'soft0 1' preload
    dtest_passes -b 4096
}
@test "Debian's libdat2 with our libdaploucm on soft0" {
    use_stack debian "$ours/libdaploucm.so.2" 'soft0 1' preload
    dtest_passes -b 4096
}
@test "our libdat2 with our libdaploucm on soft0" {
    use_stack ours "$ours/libdaploucm.so.2" 'soft0 1' preload
    dtest_passes -b 4096
}
@test "our libdat2 with our libdaplofa on soft0" {
    use_stack ours "$ours/libdaplofa.so.2" 'lo 0' preload
    dtest_passes -b 4096
}
@test "our libdat2 with our libdaplsoft, which holds a softverbs of its own, under the preloaded one" {
    use_stack ours "$ours/libdaplsoft.so.2" 'soft0 0' preload
    dtest_passes -b 4096
}
