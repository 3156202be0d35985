# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Runs Debian's dtestcm, dtestsrq and dapltest as tests, on the stack that use_stack has chosen.
# Their exit statuses say little, so every line they print is compared.
# shellcheck disable=SC2154 # stack and server_address come from the helpers

# usage: address - prints the server's, as a pattern; address_of Client: on another machine the client has its own.
address() { echo "${server_address//./\\.}"; }
address_of() {
    local client=${client_address:-$server_address}
    if [ "${1,,}" = client ]; then echo "${client//./\\.}"; else address; fi
}

# A pattern of an IA address that names a queue pair, where it does. A client then gets LID and QPN of
# the server, and prints no other address of it.
connects_by_qpn=
addresses_are_queue_pairs() { connects_by_qpn='[0-9a-f:]+ flowinfo\(QPN\)=0x[0-9a-f]+, port\(LID\)=0x[0-9a-f]+'; }

time_of=' +[0-9.]+ usec'

# usage: dtestcm_lines ROLE CONNECTIONS LISTENERS - prints what dtestcm prints as `Server` or
# `Client`.
dtestcm_lines() {
    local role=$1 count=$2 listener
    echo " Running ${role,} on ia with $count RC connections"
    echo "[0-9]+ Local IA Address - ${connects_by_qpn:-$(address_of "$role") port 45248}"
    if [ "$role" = Server ]; then
        for ((listener = 0; listener < $3; listener++)); do echo " Server ready on port $((45248 + listener))"; done
        printf '%s\n' '[0-9]+ Conn server waiting for client, port 15828' ' Accepting\.\.\.' \
            ' Completing\.\.\.'
    else
        [ -n "$connects_by_qpn" ] || printf '%s\n' " Connecting to Server: $(address)" " Address: $(address) port 45248"
        echo ' Connecting\.\.\.'
    fi
    echo " ALL $count CONNECTED on $role!"
    echo ' DAPL Connection Test Complete\.'
    printf ' %s:%s\n' open "$time_of" close "$time_of" 'PZ create' "$time_of" 'PZ free' "$time_of" 'LMR create' "$time_of" \
        'LMR free' "$time_of" 'EVD create' "$time_of" 'EVD free' "$time_of" 'EP create' "$time_of avg" 'EP free' "$time_of avg"
    [ "$role" = Server ] ||
        echo " Connections:$time_of, CPS +[0-9.]+ Total [0-9.]+ secs, poll_cnt=[0-9]+, Num=$count"
    echo ' TOTAL: +[0-9.]+ sec'
}

# usage: dtestcm_passes CONNECTIONS LISTENERS OPTIONS...
dtestcm_passes() {
    need_program dtestcm
    local count=$1 listeners=$2
    shift 2
    run_dapl_pair dtestcm -c "$count" "$@"
    prints server < <(dtestcm_lines Server "$count" "$listeners")
    prints client < <(dtestcm_lines Client "$count" "$listeners")
    is_silent server client
    fabric_is_clean
}

# usage: dtestsrq_lines ROLE KIND CONNECTIONS BURSTS MESSAGES - prints what dtestsrq prints. ROLE is
# `SERVER` or `CLIENT`, KIND is `SRQ` or `none SRQ`.
dtestsrq_lines() {
    echo " Running RC $2 test as $1: on ia with $3 connections, $4 bursts of $5 messages"
    if [ -n "$connects_by_qpn" ]; then echo " Local Address AF_INET6 - $connects_by_qpn"; else echo " Local Address AF_INET - $(address_of "$1") port 5001"; fi
    if [ "$1" = SERVER ]; then
        printf '%s\n' ' server ready on port 5001' ' Accepting\.\.\.'
    else
        [ -n "$connects_by_qpn" ] || printf '%s\n' " Connecting to Server: $(address)" " Address: $(address) port 5001"
        echo ' Connecting\.\.\.'
    fi
    printf '%s\n' ' Completing\.\.\.' " ALL $3 CONNECTED on ${1,,}!" " DAPL RC $2 Test Complete\\."
}

# usage: dtestsrq_runs CONNECTIONS BURSTS MESSAGES OPTIONS...
dtestsrq_runs() {
    need_program dtestsrq
    local options=(-P ia -p 5001 -c "$1" -t "$2" -B "$3" "${@:4}") server=(-h "$server_address")
    start_serving stdbuf -oL dtestsrq -s "${options[@]}"
    await_line server 'server ready on port'
    if [ -n "$connects_by_qpn" ]; then
        read -ra server < <(sed -nE 's/.*\(QPN\)=(\w+), port\(LID\)=(\w+).*/-q \1 -l \2/p' "$BATS_TEST_TMPDIR/server.out")
    fi
    run_to_end client "${stack[@]}" stdbuf -oL dtestsrq "${server[@]}" "${options[@]}"
    await_end server
    is_silent server client
    fabric_is_clean
}

# usage: dtestsrq_passes CONNECTIONS BURSTS MESSAGES
dtestsrq_passes() {
    dtestsrq_runs "$@"
    prints server < <(dtestsrq_lines SERVER SRQ "$@")
    prints client < <(dtestsrq_lines CLIENT SRQ "$@")
}

start_dapltest_server() {
    need_program dapltest
    start_serving stdbuf -oL dapltest -T S -D ia -n 45278
    await_line server 'Dapltest: Service Point Ready - ia'
}

# This also tests dapltest's quit test (-T Q).
quit_dapltest_server() {
    run_to_end quit "${stack[@]}" dapltest -T Q -s "$server_address" -D ia -n 45278
    prints quit <<LINES
Server Name: $(address)
Server Net Address: $(address)
DT_cs_Client: Starting Test \.\.\.
Quit_Cmd\.server_name: $(address)
Quit_Cmd\.device_name: ia
DT_cs_Client: ========== End of Work -- Client Exiting
LINES
    await_end server
    is_silent server quit
    fabric_is_clean
}

# usage: dapltest_server_prints TESTS LINE... - checks that each test, which has a thread of its
# own, has printed these lines. A short test may end before the listening thread says that it is
# ready again, so the lines of the tests and those of the listener are compared separately.
dapltest_server_prints() {
    local tests=$1 test
    shift
    grep '^Server: ' "$BATS_TEST_TMPDIR/server.out" >"$BATS_TEST_TMPDIR/tests.out"
    grep -v '^Server: ' "$BATS_TEST_TMPDIR/server.out" >"$BATS_TEST_TMPDIR/listener.out"
    prints tests < <(for ((test = 0; test < tests; test++)); do printf '%s\n' "$@"; done)
    prints listener < <(
        for ((test = 0; test <= tests; test++)); do echo 'Dapltest: Service Point Ready - ia'; done
        echo 'DT_cs_Server \(ia\):  Exiting\.'
    )
}

# usage: transaction_passes THREADS EPS ITERATIONS NOTES OPTIONS AND OPERATIONS... - NOTES is the
# number of operations that -V adds.
transaction_passes() {
    local threads=$1 eps=$2 iterations=$3 notes=$4
    shift 4
    start_dapltest_server
    run_to_end client "${stack[@]}" dapltest -T T -s "$server_address" -D ia -n 45278 -t "$threads" -w "$eps" -i "$iterations" "$@"
    prints client < <(
        for ((note = 0; note < notes; note++)); do echo 'NOTE: Adding OP "(client|server) SR" - for validation'; done
        printf '%s\n' "Server Name: $(address)" "Server Net Address: $(address)" 'DT_cs_Client: Starting Test \.\.\.' \
            "----- Stats ---- : $threads threads, $eps EPs" 'Total WQE +: +[0-9.]+ WQE/Sec' 'Total Time +: +[0-9.]+ sec'
        for kind in Send Recv 'RDMA Read' 'RDMA Write'; do echo "Total $kind *: +[0-9.]+ MB - +[0-9.]+ MB/Sec"; done
        echo 'DT_cs_Client: ========== End of Work -- Client Exiting'
    )
    is_silent client
    quit_dapltest_server
    dapltest_server_prints 1 'Server: Transaction Test Finished for this client'
}

# usage: mixed_passes SEGMENTS - mixes operations; reads of one kind have SEGMENTS segments, because
# siw takes only one.
mixed_passes() {
    transaction_passes 2 2 20 3 -V -P client RW 4096 1 server RW 2048 4 client RR 1024 "$1" server RR 512 1 \
        client SR 1024 4 server SR 4096 2 client SR 1024 3 -f server SR 2048 1 -f
}

# usage: performance_passes COUNT p|b OPERATION SIZE DEPTH
performance_passes() {
    local mode=polling raw count=$1
    shift
    [ "$1" = p ] || mode=blocking
    run_to_end client "${stack[@]}" dapltest -T P -s "$server_address" -D ia -n 45278 -m "$1" -i "$count" -p "$4" "$2" "$3" 1
    is_silent client
    raw="raw: $2, $count, $3, 1, $4(, [-a-z0-9.]+){6}"
    # A part with context switches has three more lines, which are dropped; all others are fixed.
    sed -i -E '/^    (Arithmetic mean|maximum|minimum|[0-9]+ (posts|reaps) with(out)? context switches)/d' \
        "$BATS_TEST_TMPDIR/client.out"
    prints client <<LINES
Server Name: $(address)
Server Net Address: $(address)
DT_cs_Client: Starting Test \.\.\.
-+ Statistics -+
    Mode +: $mode
    Operation Type +: $2
    Number of Operations +: $count
    Segment Size +: $3
    Number of Segments +: 1
    Pipeline Length +: $4
    Total Time +: [-a-z0-9.]+ sec
    Total Data Exchanged +: [0-9.]+ MB
    CPU Utilization +: [-a-z0-9.]+
    Operation Throughput +: [-a-z0-9.]+ ops/sec
    Bandwidth +: [-a-z0-9.]+ MB/sec
Latency
Time Per Post
Time Per Reap
NOTE: 1 MB = 1024 KB = 1048576 B
-+
$raw
-+
DT_cs_Client: ========== End of Work -- Client Exiting
LINES
}

# usage: limit_lines NAME TEXT... - prints the block of one limit test.
limit_lines() {
    echo '\*{70}'
    echo "Limitation Test +$1"
    echo 'Description:  Test max .*'
    printf '%s\n' "${@:2}"
    echo '\*{70}'
}

# usage: limits_are_reached COUNT [KIND...] - runs dapltest -T L with this count for all limits, or
# for those of the kinds, in this order: ia pz cno evd ep rsp psp lmr rpost size_lmr.
limits_are_reached() {
    need_program dapltest
    local count=$1 kind
    shift
    run_to_end limits "${stack[@]}" dapltest -T L -D ia -m "$count" "${@/#/limit_}"
    [ $# -gt 0 ] || set -- ia pz cno evd ep rsp psp lmr rpost size_lmr
    prints limits < <(
        for kind in "$@"; do
            case $kind in
                ia) limit_lines limit_ia "LimitTest: IAs opened: $count" ;;
                rpost)
                    limit_lines limit_rpost 'LimitTest: dat_ep_post_recv #'{1..17} \
                        'LimitTest: dat_ep_post_recv fails: DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY' \
                        'LimitTest: recv buffers posted per EP: 16' '[[:space:]]+ \(total posted: 16\)' \
                        'LimitTest: recv buffers posted per EP: 17' '[[:space:]]+ \(total posted: 17\)'
                    ;;
                size_lmr) limit_lines limit_size_lmr 'LimitTest: LMR of 0x40000000 bytes OK - stopping now\.' ;;
                *) limit_lines "limit_$kind" "LimitTest: ${kind^^}s created: $count" ;;
            esac
        done
    )
    # The only message names the limit that refused the post.
    never grep -vE ' max_recv_dtos is 16, .* \[DAT115\]$' "$BATS_TEST_TMPDIR/limits.err"
    fabric_is_clean
}

# usage: feature_passes NAME CASES - runs dapltest -T F: no case fails, nor anything within one.
# dapltest has no case 5 of queryinfo. If $without_memory_windows is set, the device has none, and
# case 9 of queryinfo gets DAT_MODEL_NOT_SUPPORTED.
feature_passes() {
    local case
    need_program dapltest
    run_to_end "$1" "${stack[@]}" dapltest -T F -f "$1" -s "$server_address" -D ia -n 45278
    sed -i -nE '/Server (Name|Net Address)|case: |Result: |failed in file|Error/p' "$BATS_TEST_TMPDIR/$1.out"
    prints "$1" < <(
        printf '%s\n' "Server Name: $(address)" "Server Net Address: $(address)"
        for ((case = 0; case < $2; case++)); do
            echo "[[:space:]]*Function feature: .* case: $case"
            # Case mem.2 registers memory of length zero, and the device decides on the result. The
            # test itself expects a code that no device returns.
            [ "$1.$case" != mem.2 ] || printf '%s\n' 'DAT_GET_TYPE.* failed in file .*' 'Error = (0, DAT_SUCCESS|196608, DAT_INSUFFICIENT_RESOURCES)'
            [ "$1.$case" != queryinfo.9 ] || [ -z "${without_memory_windows:-}" ] ||
                printf '%s\n' 'rc == DAT_SUCCESS failed in file .*' 'Error = 589824, DAT_MODEL_NOT_SUPPORTED'
            if [ "$1.$case" = queryinfo.5 ]; then echo 'Result: UNSUPP'; else echo 'Result: PASS'; fi
        done
    )
}

features_pass() {
    feature_passes hwconn 4
    # The test opens names that do not exist.
    grep -qE 'DAT003' "$BATS_TEST_TMPDIR/hwconn.err"
    ! grep -vE 'DAT003|DAT007' "$BATS_TEST_TMPDIR/hwconn.err" || return 1
    feature_passes endpoint 3
    feature_passes pz 3
    feature_passes mem 5
    feature_passes connmgt 2
    feature_passes queryinfo 18
    is_silent endpoint pz mem connmgt queryinfo
    fabric_is_clean
}
