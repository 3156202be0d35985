#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs processes over soft0 that are all connected to all (test/bench/mesh): all of them connect, each is listed
# with its queue pairs, and when one of them is killed all others get their events. make check-long takes 256.
load ../compat/helpers

setup() {
    printf 'ia u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 1" ""\n' >"$BATS_TEST_TMPDIR/dat.conf"
}

# usage: mesh PROCESSES PER_PAIR - what it prints is in mesh, the fabric's members in members.
mesh() {
    cd "$BATS_TEST_TMPDIR"
    DAT_OVERRIDE=$PWD/dat.conf LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs "$TOP_BUILDDIR/test/bench/.libs/mesh" ia "$1" "$2" \
        "'$TOP_BUILDDIR/softverbs' ls --json >members" >mesh 2>told || { cat mesh told; return 1; }
    cat mesh
    jq -e --argjson processes "$1" --argjson pairs "$2" '
        (.processes | length) == $processes and all(.processes[]; (.queue_pairs | length) == ($processes - 1) * $pairs)' members
    # All others got their event, or mesh would have failed. Those that learn within some milliseconds how the
    # process ended warn, and nobody warns of anything else.
    grep -q 'signal 9: Killed.*DAT290' told
    never grep -vE 'DAT29[01]' told
}

@test "processes that are all connected to all, three times each" { mesh 12 3; }
@test "many processes that are all connected to all" {
    local processes=40
    ! is_long_run || processes=256
    mesh "$processes" 1
}
