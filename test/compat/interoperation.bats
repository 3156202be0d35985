#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs our stack against the reference's, both over softverbs.
load helpers
load interoperation

results=$BATS_FILE_TMPDIR/results
# Runs all providers at once, each in a network of its own: much of it is waiting.
setup_file() {
    local provider
    describe_run >&3
    for provider in cma scm ucm; do
        (
            BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR/$provider
            mkdir "$BATS_TEST_TMPDIR"
            start_network
            run_pairings "$provider" soft0
            stop_all
        ) &
    done
    wait
}
setup() {
    need_program dtest
    need_library libdat2.so.2 libdaplofa.so.2 libdaploscm.so.2 libdaploucm.so.2
}

@test "cma on soft0, the reference's server, the reference's client: open and close" { cell; }
@test "cma on soft0, the reference's server, the reference's client: connect" { cell; }
@test "cma on soft0, the reference's server, the reference's client: private data" { cell; }
@test "cma on soft0, the reference's server, the reference's client: send" { cell; }
@test "cma on soft0, the reference's server, the reference's client: RDMA write" { cell; }
@test "cma on soft0, the reference's server, the reference's client: RDMA read" { cell; }
@test "cma on soft0, the reference's server, the reference's client: disconnect by the client" { cell; }
@test "cma on soft0, the reference's server, the reference's client: disconnect by the server" { cell; }
@test "cma on soft0, the reference's server, the reference's client: reject with data" { cell; }
@test "cma on soft0, the reference's server, the reference's client: reject without data" { cell; }
@test "cma on soft0, the reference's server, the reference's client: nobody listens" { cell; }
@test "cma on soft0, the reference's server, the reference's client: our dtest" { cell; }
@test "cma on soft0, the reference's server, the reference's client: the reference's dtest" { cell; }

@test "cma on soft0, our server, our client: open and close" { cell; }
@test "cma on soft0, our server, our client: connect" { cell; }
@test "cma on soft0, our server, our client: private data" { cell; }
@test "cma on soft0, our server, our client: send" { cell; }
@test "cma on soft0, our server, our client: RDMA write" { cell; }
@test "cma on soft0, our server, our client: RDMA read" { cell; }
@test "cma on soft0, our server, our client: disconnect by the client" { cell; }
@test "cma on soft0, our server, our client: disconnect by the server" { cell; }
@test "cma on soft0, our server, our client: reject with data" { cell; }
@test "cma on soft0, our server, our client: reject without data" { cell; }
@test "cma on soft0, our server, our client: nobody listens" { cell; }
@test "cma on soft0, our server, our client: our dtest" { cell; }
@test "cma on soft0, our server, our client: the reference's dtest" { cell; }

@test "cma on soft0, our server, the reference's client: open and close" { cell; }
@test "cma on soft0, our server, the reference's client: connect" { cell; }
@test "cma on soft0, our server, the reference's client: private data" { cell; }
@test "cma on soft0, our server, the reference's client: send" { cell; }
@test "cma on soft0, our server, the reference's client: RDMA write" { cell; }
@test "cma on soft0, our server, the reference's client: RDMA read" { cell; }
@test "cma on soft0, our server, the reference's client: disconnect by the client" { cell; }
@test "cma on soft0, our server, the reference's client: disconnect by the server" { cell; }
@test "cma on soft0, our server, the reference's client: reject with data" { cell; }
@test "cma on soft0, our server, the reference's client: reject without data" { cell; }
@test "cma on soft0, our server, the reference's client: nobody listens" { cell; }
@test "cma on soft0, our server, the reference's client: our dtest" { cell; }
@test "cma on soft0, our server, the reference's client: the reference's dtest" { cell; }

@test "cma on soft0, the reference's server, our client: open and close" { cell; }
@test "cma on soft0, the reference's server, our client: connect" { cell; }
@test "cma on soft0, the reference's server, our client: private data" { cell; }
@test "cma on soft0, the reference's server, our client: send" { cell; }
@test "cma on soft0, the reference's server, our client: RDMA write" { cell; }
@test "cma on soft0, the reference's server, our client: RDMA read" { cell; }
@test "cma on soft0, the reference's server, our client: disconnect by the client" { cell; }
@test "cma on soft0, the reference's server, our client: disconnect by the server" { cell; }
@test "cma on soft0, the reference's server, our client: reject with data" { cell; }
@test "cma on soft0, the reference's server, our client: reject without data" { cell; }
@test "cma on soft0, the reference's server, our client: nobody listens" { cell; }
@test "cma on soft0, the reference's server, our client: our dtest" { cell; }
@test "cma on soft0, the reference's server, our client: the reference's dtest" { cell; }

@test "scm on soft0, the reference's server, the reference's client: open and close" { cell; }
@test "scm on soft0, the reference's server, the reference's client: connect" { cell; }
@test "scm on soft0, the reference's server, the reference's client: private data" { cell; }
@test "scm on soft0, the reference's server, the reference's client: send" { cell; }
@test "scm on soft0, the reference's server, the reference's client: RDMA write" { cell; }
@test "scm on soft0, the reference's server, the reference's client: RDMA read" { cell; }
@test "scm on soft0, the reference's server, the reference's client: disconnect by the client" { cell; }
@test "scm on soft0, the reference's server, the reference's client: disconnect by the server" { cell; }
@test "scm on soft0, the reference's server, the reference's client: reject with data" { cell; }
@test "scm on soft0, the reference's server, the reference's client: reject without data" { cell; }
@test "scm on soft0, the reference's server, the reference's client: nobody listens" { cell; }
@test "scm on soft0, the reference's server, the reference's client: our dtest" { cell; }
@test "scm on soft0, the reference's server, the reference's client: the reference's dtest" { cell; }

@test "scm on soft0, our server, our client: open and close" { cell; }
@test "scm on soft0, our server, our client: connect" { cell; }
@test "scm on soft0, our server, our client: private data" { cell; }
@test "scm on soft0, our server, our client: send" { cell; }
@test "scm on soft0, our server, our client: RDMA write" { cell; }
@test "scm on soft0, our server, our client: RDMA read" { cell; }
@test "scm on soft0, our server, our client: disconnect by the client" { cell; }
@test "scm on soft0, our server, our client: disconnect by the server" { cell; }
@test "scm on soft0, our server, our client: reject with data" { cell; }
@test "scm on soft0, our server, our client: reject without data" { cell; }
@test "scm on soft0, our server, our client: nobody listens" { cell; }
@test "scm on soft0, our server, our client: our dtest" { cell; }
@test "scm on soft0, our server, our client: the reference's dtest" { cell; }

@test "scm on soft0, our server, the reference's client: open and close" { cell; }
@test "scm on soft0, our server, the reference's client: connect" { cell; }
@test "scm on soft0, our server, the reference's client: private data" { cell; }
@test "scm on soft0, our server, the reference's client: send" { cell; }
@test "scm on soft0, our server, the reference's client: RDMA write" { cell; }
@test "scm on soft0, our server, the reference's client: RDMA read" { cell; }
@test "scm on soft0, our server, the reference's client: disconnect by the client" { cell; }
@test "scm on soft0, our server, the reference's client: disconnect by the server" { cell; }
@test "scm on soft0, our server, the reference's client: reject with data" { cell; }
@test "scm on soft0, our server, the reference's client: reject without data" { cell; }
@test "scm on soft0, our server, the reference's client: nobody listens" { cell; }
@test "scm on soft0, our server, the reference's client: our dtest" { cell; }
@test "scm on soft0, our server, the reference's client: the reference's dtest" { cell; }

@test "scm on soft0, the reference's server, our client: open and close" { cell; }
@test "scm on soft0, the reference's server, our client: connect" { cell; }
@test "scm on soft0, the reference's server, our client: private data" { cell; }
@test "scm on soft0, the reference's server, our client: send" { cell; }
@test "scm on soft0, the reference's server, our client: RDMA write" { cell; }
@test "scm on soft0, the reference's server, our client: RDMA read" { cell; }
@test "scm on soft0, the reference's server, our client: disconnect by the client" { cell; }
@test "scm on soft0, the reference's server, our client: disconnect by the server" { cell; }
@test "scm on soft0, the reference's server, our client: reject with data" { cell; }
@test "scm on soft0, the reference's server, our client: reject without data" { cell; }
@test "scm on soft0, the reference's server, our client: nobody listens" { cell; }
@test "scm on soft0, the reference's server, our client: our dtest" { cell; }
@test "scm on soft0, the reference's server, our client: the reference's dtest" { cell; }

@test "ucm on soft0, the reference's server, the reference's client: open and close" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: connect" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: private data" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: send" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: RDMA write" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: RDMA read" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: disconnect by the client" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: disconnect by the server" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: reject with data" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: reject without data" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: nobody listens" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: our dtest" { cell; }
@test "ucm on soft0, the reference's server, the reference's client: the reference's dtest" { cell; }

@test "ucm on soft0, our server, our client: open and close" { cell; }
@test "ucm on soft0, our server, our client: connect" { cell; }
@test "ucm on soft0, our server, our client: private data" { cell; }
@test "ucm on soft0, our server, our client: send" { cell; }
@test "ucm on soft0, our server, our client: RDMA write" { cell; }
@test "ucm on soft0, our server, our client: RDMA read" { cell; }
@test "ucm on soft0, our server, our client: disconnect by the client" { cell; }
@test "ucm on soft0, our server, our client: disconnect by the server" { cell; }
@test "ucm on soft0, our server, our client: reject with data" { cell; }
@test "ucm on soft0, our server, our client: reject without data" { cell; }
@test "ucm on soft0, our server, our client: nobody listens" { cell; }
@test "ucm on soft0, our server, our client: our dtest" { cell; }
@test "ucm on soft0, our server, our client: the reference's dtest" { cell; }

@test "ucm on soft0, our server, the reference's client: open and close" { cell; }
@test "ucm on soft0, our server, the reference's client: connect" { cell; }
@test "ucm on soft0, our server, the reference's client: private data" { cell; }
@test "ucm on soft0, our server, the reference's client: send" { cell; }
@test "ucm on soft0, our server, the reference's client: RDMA write" { cell; }
@test "ucm on soft0, our server, the reference's client: RDMA read" { cell; }
@test "ucm on soft0, our server, the reference's client: disconnect by the client" { cell; }
@test "ucm on soft0, our server, the reference's client: disconnect by the server" { cell; }
@test "ucm on soft0, our server, the reference's client: reject with data" { cell; }
@test "ucm on soft0, our server, the reference's client: reject without data" { cell; }
@test "ucm on soft0, our server, the reference's client: nobody listens" { cell; }
@test "ucm on soft0, our server, the reference's client: our dtest" { cell; }
@test "ucm on soft0, our server, the reference's client: the reference's dtest" { cell; }

@test "ucm on soft0, the reference's server, our client: open and close" { cell; }
@test "ucm on soft0, the reference's server, our client: connect" { cell; }
@test "ucm on soft0, the reference's server, our client: private data" { cell; }
@test "ucm on soft0, the reference's server, our client: send" { cell; }
@test "ucm on soft0, the reference's server, our client: RDMA write" { cell; }
@test "ucm on soft0, the reference's server, our client: RDMA read" { cell; }
@test "ucm on soft0, the reference's server, our client: disconnect by the client" { cell; }
@test "ucm on soft0, the reference's server, our client: disconnect by the server" { cell; }
@test "ucm on soft0, the reference's server, our client: reject with data" { cell; }
@test "ucm on soft0, the reference's server, our client: reject without data" { cell; }
@test "ucm on soft0, the reference's server, our client: nobody listens" { cell; }
@test "ucm on soft0, the reference's server, our client: our dtest" { cell; }
@test "ucm on soft0, the reference's server, our client: the reference's dtest" { cell; }

@test "soft0: each difference of the table is met" { every_difference_is_needed "cma on soft0" "scm on soft0" "ucm on soft0" "ucm on soft0, our server"; }
