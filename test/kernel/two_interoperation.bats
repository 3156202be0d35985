#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine: none
# Runs our stack against the reference's, one on each of two machines: the matrix of interoperation.bats, a
# test for each pairing. The server is on the second machine. On siw dtest is left out (runs_dtest), and
# rejections are: siw's reset of the TCP connection may arrive before them, with the reference too.
load ../compat/helpers
load ../compat/interoperation

results=$TOP_BUILDDIR/test/kernel/two_interoperation.results
setup_file() {
    rm -rf "$results"
    "$TOP_SRCDIR/test/kernel/machine" --two --share "$TOP_BUILDDIR" --limit 2400 -- "$TOP_SRCDIR/test/kernel/pairings" "$results" \
        'cma rxe0' 'cma siw0' 'scm rxe0' >&3
}
setup() {
    need_program dtest
    need_library libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2
}

conversation=('open and close' connect 'private data' send 'RDMA write' 'RDMA read' 'disconnect by the client' 'disconnect by the server'
    'nobody listens')
rejections=('reject with data' 'reject without data')
dtests=('our dtest' "the reference's dtest")

# usage: cells CASE... - of the pairing that the test's name says.
cells() {
    local pairing=$BATS_TEST_DESCRIPTION each
    for each in "$@"; do
        BATS_TEST_DESCRIPTION="$pairing: $each"
        cell
    done
}

@test "cma on rxe0, our server, our client" { cells "${conversation[@]}" "${rejections[@]}" "${dtests[@]}"; }
@test "cma on rxe0, our server, the reference's client" { cells "${conversation[@]}" "${rejections[@]}" "${dtests[@]}"; }
@test "cma on rxe0, the reference's server, our client" { cells "${conversation[@]}" "${rejections[@]}" "${dtests[@]}"; }

@test "cma on siw0, our server, our client" { cells "${conversation[@]}"; }
@test "cma on siw0, our server, the reference's client" { cells "${conversation[@]}"; }
@test "cma on siw0, the reference's server, our client" { cells "${conversation[@]}"; }

@test "scm on rxe0, our server, our client" { cells "${conversation[@]}" "${rejections[@]}" "${dtests[@]}"; }
@test "scm on rxe0, our server, the reference's client" { cells "${conversation[@]}" "${rejections[@]}" "${dtests[@]}"; }
@test "scm on rxe0, the reference's server, our client" { cells "${conversation[@]}" "${rejections[@]}" "${dtests[@]}"; }
