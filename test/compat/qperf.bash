# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For the tests that run Debian's qperf. Each measurement takes a second, the least that qperf permits. No number is judged, except that
# something arrived; the verifications of qperf judge each result themselves.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() {
    need_program qperf ibv_devinfo
    start_network
}
teardown() { stop_all; }

# The server sends the number of its port to the client before it listens there; a client that is
# refused tries again.
came_too_early() { grep -qh 'unexpected event from RDMA CM: Event rejected' "$BATS_TEST_TMPDIR"/client.{out,err}; }

# usage: run_qperf OPTIONS... TEST - runs server and client, and ends the server.
run_qperf() {
    local status tries
    start server "$tool" run qperf
    await_port server 19765
    for tries in {1..20}; do
        status=0
        start client "$tool" run qperf 127.0.0.1 -t 1 "$@"
        wait "${process_of[client]}" || status=$?
        unset 'process_of[client]'
        if [ "$status" -eq 0 ] || ! came_too_early; then break; fi
    done
    [ "$status" -eq 0 ] || { echo "client ended with status $status, attempt $tries"; return 1; }
    run_to_end quit "$tool" run qperf 127.0.0.1 quit
    await_end server
    is_silent client quit
    fabric_gets_clean
}

declare -gA units=([latency]='latency += +[0-9.,]+ [mun]?s' [bandwidth]='(recv_)?bw += +[0-9.,]+ [KMG]?B/sec' [rate]='msg_rate += +[0-9.,]+ [KMG]?/sec')

# usage: measure latency|bandwidth|rate OPTIONS... TEST - the client must report it, other than zero.
measure() {
    local wanted=${units[$1]}
    shift
    run_qperf "$@"
    has client "^ +$wanted$"
    never grep -E '^ *(recv_bw|bw|latency|msg_rate) += +0 |fail|warn' "$BATS_TEST_TMPDIR/client.out"
}
