# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For the tests that run Debian's perftest. No number is judged, only that there is one for each
# size. Where perftest spins on memory without asking the device anything, the iterations are few:
# on a busy machine each turn then costs a time slice.
load helpers

setup() { start_network; }
teardown() { stop_all; }

# With -R perftest listens by rdma_cm, where the kernel knows of no port, and prints this line just
# before it listens.
await_server() {
    if [[ " $* " = *" -R "* ]]; then
        await_line server 'Waiting for client to connect'
    else
        await_port server 18515
    fi
}

# usage: run_pair PROGRAM OPTIONS... - runs server and client. With -R perftest connects twice, and
# its client asks for the second connection without knowing whether the server listens for it yet. A
# client that came too early is refused and gives up; then both begin again.
run_pair() {
    local status tries
    for tries in {1..20}; do
        status=0
        start server env LD_PRELOAD="$softverbs" stdbuf -oL "$@"
        await_server "$@"
        start client env LD_PRELOAD="$softverbs" "$@" 127.0.0.1
        wait "${process_of[client]}" || status=$?
        unset 'process_of[client]'
        if [ "$status" -eq 0 ]; then
            await_end server
            return
        fi
        grep -q 'RDMA_CM_EVENT_REJECTED; error: 8' "$BATS_TEST_TMPDIR/client.err" || break
        kill "${process_of[server]}" 2>/dev/null || true
        wait "${process_of[server]}" || true
    done
    echo "client ended with status $status, attempt $tries"
    return 1
}

# usage: measure PROGRAM SIZES OPTIONS... - runs it; the report must have a row for each of SIZES.
measure() {
    local program=$1 sizes=$2 size
    shift 2
    need_program "$program" ibv_devinfo
    run_pair "$program" "$@"
    for size in $sizes; do
        has client "^ *$size[[:space:]]+[0-9]+([[:space:]]+[0-9.]+){3,}"
    done
    unexpected=$(cat "$BATS_TEST_TMPDIR"/{server,client}.{out,err} | grep -iE 'error|fail|warn|unable|couldn|problem' || true)
    [ -z "$unexpected" ] || { echo "unexpected: $unexpected"; return 1; }
    # Some programs of perftest end without closing the device.
    fabric_gets_clean
}
