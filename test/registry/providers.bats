#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks what the provider libraries show to the linker.

libraries="libdaplofa.so.2 libdaploscm.so.2 libdaploucm.so.2 libdaplsoft.so.2"

file() { echo "$TOP_BUILDDIR/.libs/$1"; }
undefined() { nm -D --undefined-only "$(file "$1")" | awk '{print $NF}'; }
needed() { readelf -d "$(file "$1")" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort; }

@test "each provider library exports its three functions under its node and nothing else" {
    for pair in libdaplofa.so.2:DAPL_CMA_2.0 libdaploscm.so.2:DAPL_SCM_2.0 libdaploucm.so.2:DAPL_OCM_2.0 libdaplsoft.so.2:DAPL_SOFT_2.0; do
        library=${pair%%:*} node=${pair#*:}
        exported=$(nm -D --defined-only "$(file "$library")" | awk '$2 != "A" {print $3}' | sort | tr '\n' ' ')
        [ "$exported" = "dapl_extensions@@$node dat_provider_fini@@$node dat_provider_init@@$node " ] ||
            { echo "$library exports $exported"; return 1; }
    done
}

@test "a provider library leaves three functions of libdat2 undefined and nothing else that it does not name" {
    for library in $libraries; do
        # Versioned names belong to the NEEDED libraries; weak ones may stay undefined. The
        # sanitizers' run time takes the versions off the C library's names, so only the beginnings
        # of names that could be forgotten here count.
        open=$(nm -D --undefined-only "$(file "$library")" | awk '$1 == "U" && $2 !~ /@/ {print $2}' |
            grep -E '^(dat|dapl|ibv|rdma|_ZN)' | sort | tr '\n' ' ')
        [ "$open" = "dat_registry_add_provider dat_registry_remove_provider dats_get_ia_handle " ] ||
            { echo "$library leaves open: $open"; return 1; }
    done
}

@test "libdaplsoft needs nothing of rdma-core and libdaplofa has it all from there" {
    run needed libdaplsoft.so.2
    [[ $output != *ibverbs* && $output != *rdmacm* ]]
    [ "$(undefined libdaplsoft.so.2 | grep -c -E '^(ibv|rdma)_')" -eq 0 ]
    run needed libdaplofa.so.2
    [[ $output == *libibverbs.so.1* && $output == *librdmacm.so.1* ]]
}

@test "libdaploscm and libdaploucm need libibverbs and no rdma_cm" {
    for library in libdaploscm.so.2 libdaploucm.so.2; do
        run needed "$library"
        [[ $output == *libibverbs.so.1* && $output != *rdmacm* ]]
        [ "$(undefined "$library" | grep -c -E '^rdma_')" -eq 0 ]
    done
}

@test "a provider library has its file name of old, no private path, and no unique symbol" {
    for library in $libraries; do
        dynamic=$(readelf -d "$(file "$library")")
        [[ $dynamic == *"Library soname: [$library]"* ]]
        [[ $dynamic != *RPATH* && $dynamic != *RUNPATH* ]]
        [[ $(needed "$library") != *yaml* ]]
        [ "$(readelf -sW "$(file "$library")" | grep -c UNIQUE)" -eq 0 ]
    done
}
