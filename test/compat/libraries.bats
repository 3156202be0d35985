#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Compares what each of our shared libraries shows to the dynamic linker with test/compat/golden,
# and checks that closing it unloads it. After an intended change, run
# test/compat/library-facts build/.libs/LIBRARY >test/compat/golden/LIBRARY
load helpers

libraries=$TOP_BUILDDIR/.libs
unload=$TOP_BUILDDIR/test/compat/unload
teardown() { stop_all; }

# usage: as_golden LIBRARY
as_golden() {
    sh "$TOP_SRCDIR/test/compat/library-facts" "$libraries/$1" >"$BATS_TEST_TMPDIR/facts"
    diff -u "$TOP_SRCDIR/test/compat/golden/$1" "$BATS_TEST_TMPDIR/facts"
    ! grep '^fault' "$BATS_TEST_TMPDIR/facts"
}

@test "every shared library that is built has its list of facts" {
    for library in "$libraries"/*.so "$libraries"/*.so.2; do
        soname=$(readelf -dW "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
        [ -e "$TOP_SRCDIR/test/compat/golden/$soname" ] || { echo "$library: nothing in golden/$soname"; return 1; }
    done
}

@test "libdat2 exports, imports and needs what its list says" { as_golden libdat2.so.2; }
@test "libsoftverbs exports, imports and needs what its list says" { as_golden libsoftverbs.so; }

@test "libsoftverbs-heap exports, imports and needs what its list says" {
    [ -e "$libraries/libsoftverbs-heap.so" ] || skip "it was built without jemalloc"
    as_golden libsoftverbs-heap.so
}

@test "libdaplsoft exports the three names of a provider, and imports three of libdat2" { as_golden libdaplsoft.so.2; }
@test "libdaplofa exports the three names of a provider, and imports three of libdat2" { as_golden libdaplofa.so.2; }
@test "libdaploscm exports the three names of a provider, and imports three of libdat2" { as_golden libdaploscm.so.2; }
@test "libdaploucm exports the three names of a provider, and imports three of libdat2" { as_golden libdaploucm.so.2; }

@test "dlclose unloads libdat2" { "$unload" "$libraries/libdat2.so.2"; }
@test "dlclose unloads libsoftverbs" { "$unload" "$libraries/libsoftverbs.so"; }
@test "dlclose unloads libdaplsoft" { "$unload" "$libraries/libdat2.so.2" "$libraries/libdaplsoft.so.2"; }
@test "dlclose unloads libdaplofa" { "$unload" "$libraries/libdat2.so.2" "$libraries/libdaplofa.so.2"; }
@test "dlclose unloads libdaploscm" { "$unload" "$libraries/libdat2.so.2" "$libraries/libdaploscm.so.2"; }
@test "dlclose unloads libdaploucm" { "$unload" "$libraries/libdat2.so.2" "$libraries/libdaploucm.so.2"; }

@test "the last dat_ia_close unloads the provider, and dlclose libdat2 after it" {
    start_network
    use_stack ours "$libraries/libdaplsoft.so.2" 'soft0 0'
    run_to_end unload "${stack[@]}" "$unload" --open ia "$libraries/libdat2.so.2" "$libraries/libdaplsoft.so.2"
}
