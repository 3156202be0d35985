#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A server written for libfabric listens on soft0.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() { start_network; }
teardown() { stop_all; }

@test "a server that listens at 127.0.0.1 through libfabric's verbs provider gets the port that it asked for" {
    echo '#include <rdma/fi_cm.h>' | "${CC##* }" -E - >/dev/null 2>&1 || missing "libfabric-dev is not installed"
    "${CC##* }" -Wall -Werror -o "$BATS_TEST_TMPDIR/listener" "$TOP_SRCDIR/test/compat/fabric_listener.c" -lfabric
    for address in 127.0.0.1 0.0.0.0; do
        run_to_end listener "$tool" run "$BATS_TEST_TMPDIR/listener" "$address" 9228
        prints listener <<<"$address:9228"
        is_silent listener
    done
    fabric_is_clean
}
