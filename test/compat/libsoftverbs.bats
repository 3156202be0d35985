#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Compares what libsoftverbs.so exports with the installed libraries' exports.
load helpers

teardown() { stop_all; }

# usage: exported LIBRARY - prints `NAME NODE` for each default version of verbs and rdma_cm,
# without private nodes and our own.
exported() {
    nm -D --defined-only "$1" | awk '$2 != "A" && $3 ~ /@@/ && $3 !~ /PRIVATE|@@GLIBC_|@@SOFTVERBS_/ { sub("@@", " ", $3); print $3 }' | sort
}


@test "libsoftverbs: every public name of libibverbs and librdmacm is there, under its own version node" {
    need_library libibverbs.so.1 librdmacm.so.1
    { exported "$(installed libibverbs.so.1)"; exported "$(installed librdmacm.so.1)"; } | sort > "$BATS_TEST_TMPDIR/wanted"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/wanted")" -gt 100 ]
    exported "$softverbs" > "$BATS_TEST_TMPDIR/found"
    diff "$BATS_TEST_TMPDIR/wanted" "$BATS_TEST_TMPDIR/found"
}

@test "libsoftverbs: of the private names only ibv_query_gid_type is there, and six of its own for the core" {
    need_library libibverbs.so.1
    node=$(nm -D --defined-only "$(installed libibverbs.so.1)" | awk '$3 ~ /^ibv_query_gid_type@/ { print $3 }')
    private=$(nm -D --defined-only "$softverbs" | awk '$3 ~ /PRIVATE/ && $2 != "A" { print $3 }')
    wanted=$node$'\n'softverbs_count_region_uses@@SOFTVERBS_PRIVATE_1.0$'\n'softverbs_drives@@SOFTVERBS_PRIVATE_1.0$'\n'softverbs_end_registration@@SOFTVERBS_PRIVATE_1.0$'\n'softverbs_failure_of@@SOFTVERBS_PRIVATE_1.0$'\n'softverbs_resume_region@@SOFTVERBS_PRIVATE_1.0$'\n'softverbs_suspend_region@@SOFTVERBS_PRIVATE_1.0
    [ "$private" = "$wanted" ] || { echo "wanted $wanted, found $private"; false; }
}

@test "libsoftverbs: each export has a version" {
    unversioned=$(nm -D --defined-only "$softverbs" | awk '$2 != "A" && $3 !~ /@@/')
    [ -z "$unversioned" ] || { echo "$unversioned"; false; }
}

@test "libsoftverbs: adapter instances of libdaplofa on it and of libdaplsoft are open at once, each with its own attributes" {
    need_library libibverbs.so.1 librdmacm.so.1
    start_network
    {
        echo "verbs0 u2.0 nonthreadsafe default $TOP_BUILDDIR/.libs/libdaplofa.so.2 dapl.2.0 \"lo 0\" \"\""
        echo "soft0 u2.0 nonthreadsafe default $TOP_BUILDDIR/.libs/libdaplsoft.so.2 dapl.2.0 \"soft0 1\" \"\""
    } > "$BATS_TEST_TMPDIR/dat.conf"
    run_to_end both env LD_PRELOAD="$softverbs" DAT_OVERRIDE="$BATS_TEST_TMPDIR/dat.conf" "$TOP_BUILDDIR/test/compat/two_adapters"
    is_silent both
}
