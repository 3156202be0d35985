#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # the helpers set deadline_seconds
# Runs the measurement of writes between containers once; the values do not matter.
load ../compat/helpers

setup() { find_containers; }

@test "containers.py: two containers, and one, reach memory of the shared heap without the agent" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    [ -e "$TOP_BUILDDIR/.libs/libsoftverbs-heap.so" ] || skip "the shared heap was not built: it needs libjemalloc-dev"
    # It fails if an end writes to standard error, as it does when its service thread has to copy.
    timeout "$deadline_seconds" "$TOP_SRCDIR/test/bench/containers.py" "$TOP_BUILDDIR" >"$BATS_TEST_TMPDIR/measured"
    cat "$BATS_TEST_TMPDIR/measured"
    [ "$(sed -nE 's/^(\S+) [0-9]+\.[0-9]+$/\1/p' "$BATS_TEST_TMPDIR/measured" | paste -sd ' ')" = \
        "container_latency.heap container_latency.one container_bandwidth_1M.heap container_bandwidth_1M.memcpy" ]
}
