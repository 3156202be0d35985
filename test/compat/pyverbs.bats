#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's pyverbs on soft0: its objects in a script of ours, and rdma-core's tests for it.
load helpers

# Debian's own interpreter, because another one in the path does not know pyverbs.
python=/usr/bin/python3
# Debian's package keeps rdma-core's tests here; images without documentation do not have them.
rdma_core_tests=/usr/share/doc/rdma-core/tests

setup() {
    "$python" -c 'import pyverbs' 2>/dev/null || missing "python3-pyverbs is not installed"
    start_network
}
teardown() { stop_all; }

# usage: objects WHAT
objects() {
    run_to_end script env LD_PRELOAD="$softverbs" "$python" "$TOP_SRCDIR/test/compat/pyverbs_objects.py" "$1"
    is_silent script
    fabric_gets_clean
}

@test "pyverbs: RC queue pairs of two processes send, write, read and add" { objects rc_transfer; }
@test "pyverbs: CQEX and QPEx: sends built one by one, completions read part by part" { objects extended_transfer; }
@test "pyverbs: a shared receive queue and a completion channel" { objects shared_receives_and_events; }
@test "pyverbs: a memory window is bound, a region registered anew" { objects windows_and_reregistration; }
@test "pyverbs: CMID, the synchronous calls of rdma_cm" { objects connection_manager; }
@test "pyverbs: what the device lacks is an exception with EOPNOTSUPP" { objects what_is_absent; }

# The reasons for which rdma-core's tests may be skipped here. Any other reason means that a
# function has gone.
lacking='MLX5|EFA|mlx5|dmabuf|huge pages|cuda|PCI device|gid indices|Converting timestamp|Create Extended CQ|'
lacking+='Extended CQ is not supported|Extended QP is not supported'

# Copies rdma-core's tests except three. A context of this device has no descriptor from which another
# one could be made, so nothing is imported. A send queue takes as many requests as it was made for, whereas the test of
# resizing expects an adapter to round one up to many.
copy_rdma_core_tests() {
    [ -d "$rdma_core_tests" ] || skip "rdma-core's tests are not installed: documentation was left out"
    cp -r "$rdma_core_tests" tests
    find tests -name '*.gz' -exec gunzip {} +
    rm tests/test_shared_pd.py
    sed -i 's/def test_import_dm(/def not_for_this_device(/' tests/test_device.py
    sed -i 's/def test_resize_cq(/def not_for_this_device(/' tests/test_cq.py
}

# A verdict follows the test's name, or its description on the next line.
verdicts() {
    awk '/^test_[a-z0-9_]+ \(tests\./ { name = $1 } match($0, / \.\.\. /) { print name ": " substr($0, RSTART + 5) }' suite.err
}

# usage: run_rdma_core_tests LINK REASONS - none may fail, and any that is skipped has one of the reasons.
run_rdma_core_tests() {
    cd "$BATS_TEST_TMPDIR"
    copy_rdma_core_tests
    run_to_end suite env LD_PRELOAD="$softverbs" SOFTVERBS_LINK="$1" "$python" tests/run_tests.py --dev soft0 -v
    verdicts > verdicts
    never grep -E ': (FAIL|ERROR)' verdicts
    never eval "grep ': skipped' verdicts | grep -vE '$2'"
}

# usage: passed NAME... - these tests of rdma-core have run.
passed() {
    for name in "$@"; do
        grep -q "^$name: ok" verdicts || { echo "$name did not run: $(grep "^$name:" verdicts)"; return 1; }
    done
}

@test "rdma-core's own tests: none fails on soft0, and what they skip is what the device lacks" {
    run_rdma_core_tests infiniband "$lacking|net interface|Ethernet link layer|RoCE|No supported port"
    passed test_qp_ex_rc_send test_qp_ex_rc_send_imm test_qp_ex_rc_rdma_write test_qp_ex_rc_rdma_write_imm \
        test_qp_ex_rc_rdma_read test_qp_ex_rc_atomic_cmp_swp test_qp_ex_rc_atomic_fetch_add test_qp_ex_rc_bind_mw \
        test_mr_rereg_access test_mr_rereg_addr test_mr_rereg_pd test_mw_type1 test_mw_type2_invalidate_local \
        test_mw_type2_invalidate_remote test_cq_events_rc test_rc_traffic_cq_ex \
        test_odp_rc_traffic test_odp_rc_atomic_fetch_and_add test_odp_implicit_rc_traffic test_odp_ud_traffic test_odp_rc_srq_traffic \
        test_odp_sync_prefetch_rc_traffic test_odp_prefetch_async_no_page_fault_rc_traffic test_create_dm_mr test_dm_traffic \
        test_without_allocators_rc_traffic test_mem_align_srq_excq_rc_traffic \
        test_qp_ex_ud_send test_qp_ex_ud_send_imm test_create_ah test_cq_events_ud test_ud_traffic_cq_ex \
        test_xrc_traffic_cq_ex test_qp_ex_xrc_send test_qp_ex_xrc_send_imm test_xrc_atomic_fetch_and_add \
        test_xrc_atomic_cmp_and_swap test_ro_xrc_traffic
    fabric_gets_clean
}

# The tests of rdma_cm take the address of the device's interface, which it has on this link.
@test "rdma-core's own tests on RoCE: those of rdma_cm too" {
    run_rdma_core_tests roce "$lacking|Create QP type 8|Raw Packet QP"
    passed test_rdmacm_sync_traffic test_rdmacm_async_traffic test_rdmacm_async_reject_traffic test_rdmacm_async_multicast_traffic \
        test_rdmacm_async_ex_multicast_traffic test_rdmacm_async_ex_leave_multicast_traffic test_rdmacm_async_traffic_external_qp \
        test_rdmacm_async_udp_traffic test_rdmacm_async_read test_rdmacm_async_write test_ro_xrc_traffic
    fabric_gets_clean
}
