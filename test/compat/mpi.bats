#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's Open MPI and MPICH on soft0 alone: no shared memory and no TCP between the ranks. The
# HPC Challenge benchmark checks its own results; mpi_ring.c checks messages, sums and puts.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() {
    start_network
    cd "$BATS_TEST_TMPDIR" || return
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_WARN_UNUSED_ENV_VARS=n
}
teardown() { stop_all; }

declare -gA transports=(
    [ucx]="--mca pml ucx --mca osc ucx -x UCX_NET_DEVICES=soft0:1 -x UCX_TLS=rc_verbs,ud_verbs,self"
    [ucx_ud]="--mca pml ucx --mca osc ucx -x UCX_NET_DEVICES=soft0:1 -x UCX_TLS=ud_verbs,self"
    [ofi]="--mca pml cm --mca mtl ofi --mca osc pt2pt -x FI_PROVIDER=verbs;ofi_rxm --mca mtl_ofi_provider_include verbs;ofi_rxm"
    [openib]="--mca pml ob1 --mca btl openib,self --mca osc pt2pt --mca btl_openib_allow_ib 1 --mca btl_openib_if_include soft0 \
--mca btl_openib_warn_no_device_params_found 0"
)

# usage: open_mpi TRANSPORT RANKS PROGRAM...
open_mpi() {
    local transport=$1 ranks=$2
    shift 2
    need_package openmpi-bin mpirun.openmpi
    # The openib component asks for class/infiniband below the path that libibverbs names, which is
    # /sys or this one. A machine without RDMA drivers has none.
    mkdir -p sys/class/infiniband
    # shellcheck disable=SC2086 # a list of words
    run_to_end mpi env SYSFS_PATH="$PWD/sys" "$tool" run mpirun.openmpi -n "$ranks" --oversubscribe --bind-to none \
        ${transports[$transport]} "$@"
}

# usage: hpcc_passes TRANSPORT - one small round of its seven benchmarks by 2 ranks.
hpcc_passes() {
    local example=/usr/share/doc/hpcc/examples/_hpccinf.txt
    need_package hpcc hpcc
    [ -e "$example" ] || skip "hpcc's example of its input is not installed: documentation was left out"
    sed -e '6s/^[0-9]*/200/' -e '11s/^[0-9]*/1/' -e '12s/^[0-9]*/2/' "$example" >hpccinf.txt
    open_mpi "$1" 2 hpcc
    grep -x 'Success=1' hpccoutf.txt
    [ "$(grep -c '^Found 0 errors in .* (passed)\.' hpccoutf.txt)" -eq 4 ]
    grep -E '^ *[1-9][0-9]* tests completed and passed residual checks' hpccoutf.txt
    grep -E '^ *0 tests completed and failed residual checks' hpccoutf.txt
    never grep -E 'FAILED|[1-9][0-9]* errors|failed with' hpccoutf.txt
}

# usage: ring_passes TRANSPORT RANKS
ring_passes() {
    need_ring libopenmpi-dev openmpi
    open_mpi "$1" "$2" ./ring
    has mpi "^all $2 ranks are right$"
}

@test "hpcc, Open MPI over UCX" { hpcc_passes ucx; }
@test "hpcc, Open MPI over UCX with datagrams alone" { hpcc_passes ucx_ud; }
@test "hpcc, Open MPI over libfabric" { hpcc_passes ofi; }
@test "hpcc, Open MPI over btl openib" { hpcc_passes openib; }
@test "a ring of 4 ranks, Open MPI over UCX" { ring_passes ucx 4; }
@test "a ring of 4 ranks, Open MPI over UCX with datagrams alone" { ring_passes ucx_ud 4; }
@test "a ring of 4 ranks, Open MPI over libfabric" { ring_passes ofi 4; }
@test "a ring of 4 ranks, Open MPI over btl openib" { ring_passes openib 4; }
@test "a ring of 4 ranks, MPICH over UCX" {
    need_ring libmpich-dev mpich
    run_to_end mpi env UCX_NET_DEVICES=soft0:1 UCX_TLS=rc_verbs,ud_verbs,self MPIR_CVAR_NOLOCAL=1 "$tool" run mpirun.mpich -n 4 ./ring
    has mpi '^all 4 ranks are right$'
}
