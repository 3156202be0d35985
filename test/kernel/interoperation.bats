#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine: none
# Runs our stack against the reference's, on RDMA devices of the kernel. The programs run in the
# machine, all at once; the tests read here what they printed.
load ../compat/helpers
load ../compat/interoperation

results=$TOP_BUILDDIR/test/kernel/interoperation.results
setup_file() {
    rm -rf "$results"
    "$TOP_SRCDIR/test/kernel/machine" --share "$TOP_BUILDDIR" --limit 1800 -- "$TOP_SRCDIR/test/kernel/pairings" "$results" \
        'cma rxe0' 'cma siw0' 'scm rxe0' >&3
}
setup() {
    need_program dtest
    need_library libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2
}

@test "cma on rxe0, the reference's server, the reference's client: open and close" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: connect" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: private data" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: send" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: RDMA write" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: RDMA read" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: disconnect by the client" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: disconnect by the server" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: reject with data" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: reject without data" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: nobody listens" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: our dtest" { cell; }
@test "cma on rxe0, the reference's server, the reference's client: the reference's dtest" { cell; }

@test "cma on rxe0, our server, our client: open and close" { cell; }
@test "cma on rxe0, our server, our client: connect" { cell; }
@test "cma on rxe0, our server, our client: private data" { cell; }
@test "cma on rxe0, our server, our client: send" { cell; }
@test "cma on rxe0, our server, our client: RDMA write" { cell; }
@test "cma on rxe0, our server, our client: RDMA read" { cell; }
@test "cma on rxe0, our server, our client: disconnect by the client" { cell; }
@test "cma on rxe0, our server, our client: disconnect by the server" { cell; }
@test "cma on rxe0, our server, our client: reject with data" { cell; }
@test "cma on rxe0, our server, our client: reject without data" { cell; }
@test "cma on rxe0, our server, our client: nobody listens" { cell; }
@test "cma on rxe0, our server, our client: our dtest" { cell; }
@test "cma on rxe0, our server, our client: the reference's dtest" { cell; }

@test "cma on rxe0, our server, the reference's client: open and close" { cell; }
@test "cma on rxe0, our server, the reference's client: connect" { cell; }
@test "cma on rxe0, our server, the reference's client: private data" { cell; }
@test "cma on rxe0, our server, the reference's client: send" { cell; }
@test "cma on rxe0, our server, the reference's client: RDMA write" { cell; }
@test "cma on rxe0, our server, the reference's client: RDMA read" { cell; }
@test "cma on rxe0, our server, the reference's client: disconnect by the client" { cell; }
@test "cma on rxe0, our server, the reference's client: disconnect by the server" { cell; }
@test "cma on rxe0, our server, the reference's client: reject with data" { cell; }
@test "cma on rxe0, our server, the reference's client: reject without data" { cell; }
@test "cma on rxe0, our server, the reference's client: nobody listens" { cell; }
@test "cma on rxe0, our server, the reference's client: our dtest" { cell; }
@test "cma on rxe0, our server, the reference's client: the reference's dtest" { cell; }

@test "cma on rxe0, the reference's server, our client: open and close" { cell; }
@test "cma on rxe0, the reference's server, our client: connect" { cell; }
@test "cma on rxe0, the reference's server, our client: private data" { cell; }
@test "cma on rxe0, the reference's server, our client: send" { cell; }
@test "cma on rxe0, the reference's server, our client: RDMA write" { cell; }
@test "cma on rxe0, the reference's server, our client: RDMA read" { cell; }
@test "cma on rxe0, the reference's server, our client: disconnect by the client" { cell; }
@test "cma on rxe0, the reference's server, our client: disconnect by the server" { cell; }
@test "cma on rxe0, the reference's server, our client: reject with data" { cell; }
@test "cma on rxe0, the reference's server, our client: reject without data" { cell; }
@test "cma on rxe0, the reference's server, our client: nobody listens" { cell; }
@test "cma on rxe0, the reference's server, our client: our dtest" { cell; }
@test "cma on rxe0, the reference's server, our client: the reference's dtest" { cell; }

@test "cma on siw0, the reference's server, the reference's client: open and close" { cell; }
@test "cma on siw0, the reference's server, the reference's client: connect" { cell; }
@test "cma on siw0, the reference's server, the reference's client: private data" { cell; }
@test "cma on siw0, the reference's server, the reference's client: send" { cell; }
@test "cma on siw0, the reference's server, the reference's client: RDMA write" { cell; }
@test "cma on siw0, the reference's server, the reference's client: RDMA read" { cell; }
@test "cma on siw0, the reference's server, the reference's client: disconnect by the client" { cell; }
@test "cma on siw0, the reference's server, the reference's client: disconnect by the server" { cell; }
@test "cma on siw0, the reference's server, the reference's client: reject with data" { cell; }
@test "cma on siw0, the reference's server, the reference's client: reject without data" { cell; }
@test "cma on siw0, the reference's server, the reference's client: nobody listens" { cell; }
@test "cma on siw0, the reference's server, the reference's client: our dtest" { cell; }
@test "cma on siw0, the reference's server, the reference's client: the reference's dtest" { cell; }

@test "cma on siw0, our server, our client: open and close" { cell; }
@test "cma on siw0, our server, our client: connect" { cell; }
@test "cma on siw0, our server, our client: private data" { cell; }
@test "cma on siw0, our server, our client: send" { cell; }
@test "cma on siw0, our server, our client: RDMA write" { cell; }
@test "cma on siw0, our server, our client: RDMA read" { cell; }
@test "cma on siw0, our server, our client: disconnect by the client" { cell; }
@test "cma on siw0, our server, our client: disconnect by the server" { cell; }
@test "cma on siw0, our server, our client: reject with data" { cell; }
@test "cma on siw0, our server, our client: reject without data" { cell; }
@test "cma on siw0, our server, our client: nobody listens" { cell; }
@test "cma on siw0, our server, our client: our dtest" { cell; }
@test "cma on siw0, our server, our client: the reference's dtest" { cell; }

@test "cma on siw0, our server, the reference's client: open and close" { cell; }
@test "cma on siw0, our server, the reference's client: connect" { cell; }
@test "cma on siw0, our server, the reference's client: private data" { cell; }
@test "cma on siw0, our server, the reference's client: send" { cell; }
@test "cma on siw0, our server, the reference's client: RDMA write" { cell; }
@test "cma on siw0, our server, the reference's client: RDMA read" { cell; }
@test "cma on siw0, our server, the reference's client: disconnect by the client" { cell; }
@test "cma on siw0, our server, the reference's client: disconnect by the server" { cell; }
@test "cma on siw0, our server, the reference's client: reject with data" { cell; }
@test "cma on siw0, our server, the reference's client: reject without data" { cell; }
@test "cma on siw0, our server, the reference's client: nobody listens" { cell; }
@test "cma on siw0, our server, the reference's client: our dtest" { cell; }
@test "cma on siw0, our server, the reference's client: the reference's dtest" { cell; }

@test "cma on siw0, the reference's server, our client: open and close" { cell; }
@test "cma on siw0, the reference's server, our client: connect" { cell; }
@test "cma on siw0, the reference's server, our client: private data" { cell; }
@test "cma on siw0, the reference's server, our client: send" { cell; }
@test "cma on siw0, the reference's server, our client: RDMA write" { cell; }
@test "cma on siw0, the reference's server, our client: RDMA read" { cell; }
@test "cma on siw0, the reference's server, our client: disconnect by the client" { cell; }
@test "cma on siw0, the reference's server, our client: disconnect by the server" { cell; }
@test "cma on siw0, the reference's server, our client: reject with data" { cell; }
@test "cma on siw0, the reference's server, our client: reject without data" { cell; }
@test "cma on siw0, the reference's server, our client: nobody listens" { cell; }
@test "cma on siw0, the reference's server, our client: our dtest" { cell; }
@test "cma on siw0, the reference's server, our client: the reference's dtest" { cell; }

@test "scm on rxe0, the reference's server, the reference's client: open and close" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: connect" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: private data" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: send" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: RDMA write" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: RDMA read" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: disconnect by the client" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: disconnect by the server" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: reject with data" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: reject without data" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: nobody listens" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: our dtest" { cell; }
@test "scm on rxe0, the reference's server, the reference's client: the reference's dtest" { cell; }

@test "scm on rxe0, our server, our client: open and close" { cell; }
@test "scm on rxe0, our server, our client: connect" { cell; }
@test "scm on rxe0, our server, our client: private data" { cell; }
@test "scm on rxe0, our server, our client: send" { cell; }
@test "scm on rxe0, our server, our client: RDMA write" { cell; }
@test "scm on rxe0, our server, our client: RDMA read" { cell; }
@test "scm on rxe0, our server, our client: disconnect by the client" { cell; }
@test "scm on rxe0, our server, our client: disconnect by the server" { cell; }
@test "scm on rxe0, our server, our client: reject with data" { cell; }
@test "scm on rxe0, our server, our client: reject without data" { cell; }
@test "scm on rxe0, our server, our client: nobody listens" { cell; }
@test "scm on rxe0, our server, our client: our dtest" { cell; }
@test "scm on rxe0, our server, our client: the reference's dtest" { cell; }

@test "scm on rxe0, our server, the reference's client: open and close" { cell; }
@test "scm on rxe0, our server, the reference's client: connect" { cell; }
@test "scm on rxe0, our server, the reference's client: private data" { cell; }
@test "scm on rxe0, our server, the reference's client: send" { cell; }
@test "scm on rxe0, our server, the reference's client: RDMA write" { cell; }
@test "scm on rxe0, our server, the reference's client: RDMA read" { cell; }
@test "scm on rxe0, our server, the reference's client: disconnect by the client" { cell; }
@test "scm on rxe0, our server, the reference's client: disconnect by the server" { cell; }
@test "scm on rxe0, our server, the reference's client: reject with data" { cell; }
@test "scm on rxe0, our server, the reference's client: reject without data" { cell; }
@test "scm on rxe0, our server, the reference's client: nobody listens" { cell; }
@test "scm on rxe0, our server, the reference's client: our dtest" { cell; }
@test "scm on rxe0, our server, the reference's client: the reference's dtest" { cell; }

@test "scm on rxe0, the reference's server, our client: open and close" { cell; }
@test "scm on rxe0, the reference's server, our client: connect" { cell; }
@test "scm on rxe0, the reference's server, our client: private data" { cell; }
@test "scm on rxe0, the reference's server, our client: send" { cell; }
@test "scm on rxe0, the reference's server, our client: RDMA write" { cell; }
@test "scm on rxe0, the reference's server, our client: RDMA read" { cell; }
@test "scm on rxe0, the reference's server, our client: disconnect by the client" { cell; }
@test "scm on rxe0, the reference's server, our client: disconnect by the server" { cell; }
@test "scm on rxe0, the reference's server, our client: reject with data" { cell; }
@test "scm on rxe0, the reference's server, our client: reject without data" { cell; }
@test "scm on rxe0, the reference's server, our client: nobody listens" { cell; }
@test "scm on rxe0, the reference's server, our client: our dtest" { cell; }
@test "scm on rxe0, the reference's server, our client: the reference's dtest" { cell; }

@test "rxe0 and siw0: each difference of the table is met" {
    every_difference_is_needed "cma on rxe0" "cma on siw0" "scm on rxe0"
}
