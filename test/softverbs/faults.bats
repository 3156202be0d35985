#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Fault rules in unmodified programs: softverbs run --faults, softverbs fault, and SOFTVERBS_FAULTS for
# DAT programs without the preload.
load ../compat/helpers

tool=$TOP_BUILDDIR/softverbs

setup() { start_network; }
teardown() { stop_all; }

# The rules in the log, without their comments.
log() {
    sed 's/  #.*//' "$fabric/faults.log"
}

# usage: perftest PROGRAM RULES [OPTION]... - runs a pair of which the client has the rules; its exit
# status is in $status.
perftest() {
    local program=$1 rules=$2
    shift 2
    need_program "$program"
    start server "$tool" run "$program" -F -s 64 -n 2000 "$@"
    await_port server 18515
    start client "$tool" run --faults "$rules" "$program" -F -s 64 -n 2000 "$@" 127.0.0.1
    status=0
    await_end client || status=$?
    await_end server || true
}

@test "perftest fails with the status that a rule names, and the log has the rule for it" {
    perftest ib_write_bw 'write:nth=1000 -> retry_exceeded'
    [ "$status" -ne 0 ]
    has client 'Failed status 12:' || grep -q 'Failed status 12:' "$BATS_TEST_TMPDIR/client.err"
    [ "$(log)" = 'write program=ib_write_bw qp=1 nth=1000 -> retry_exceeded' ]
    grep -qE '  # pid [0-9]+, soft0 QP 0x[0-9a-f]{6} to 0x[0-9a-f]{6}, at [0-9:.]+ UTC$' "$fabric/faults.log"
}

@test "the log of one run, given as rules, makes the same faults in the next" {
    perftest ib_send_bw 'send:probability=0.01 -> delay 100us'
    [ "$status" -eq 0 ]
    log >"$BATS_TEST_TMPDIR/first"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/first")" -gt 5 ]
    mv "$fabric/faults.log" "$BATS_TEST_TMPDIR/kept"
    perftest ib_send_bw "@$BATS_TEST_TMPDIR/kept"
    [ "$status" -eq 0 ]
    log | diff "$BATS_TEST_TMPDIR/first" -
}

@test "a process is killed at the request that a rule names" {
    perftest ib_send_bw 'send:nth=500 -> kill'
    [ "$status" -ne 0 ]
    grep -qx 'send program=ib_send_bw qp=1 nth=500 -> kill' <(log)
}

@test "UCX hears of an error of its transport" {
    need_program ucx_perftest
    start server "$tool" run --only env UCX_TLS=rc UCX_NET_DEVICES=soft0:1 ucx_perftest -p 13337
    await_port server 13337
    start client "$tool" run --only --faults 'request type=rc nth=300 -> retry_exceeded' \
        env UCX_TLS=rc UCX_NET_DEVICES=soft0:1 ucx_perftest -p 13337 -t tag_lat -n 5000 127.0.0.1
    status=0
    await_end client || status=$?
    [ "$status" -ne 0 ]
    grep -qE 'transport retry counter exceeded' "$BATS_TEST_TMPDIR"/client.*
    log | grep -qx 'request program=ucx_perftest type=rc qp=[0-9]* nth=300 -> retry_exceeded'
}

# usage: rping_with RULES [COUNT] - runs a pair of which the client has the rules.
rping_with() {
    local count=${2:-3}
    need_program rping
    start server "$tool" run stdbuf -oL rping -s -a 127.0.0.1 -p 7171 -d -C "$count"
    await_line server '^rdma_listen$'
    start client "$tool" run --faults "$1" rping -c -a 127.0.0.1 -p 7171 -d -v -C "$count"
    status=0
    await_end client || status=$?
    kill "${process_of[server]}" 2>/dev/null || true
    wait "${process_of[server]}" || true
}

# rping's own thread for events may find its channel closed at the end, and then ends with status 255.
all_is_echoed() { grep -q 'ping data: rdma-ping-2' "$BATS_TEST_TMPDIR/client.out"; }

@test "an rdma_cm program gets the events of an address, a route or a connection that fails" {
    rping_with 'resolve_addr -> error'
    grep -q 'RDMA_CM_EVENT_ADDR_ERROR, error -110' "$BATS_TEST_TMPDIR"/client.*
    rping_with 'resolve_route -> error'
    grep -q 'RDMA_CM_EVENT_ROUTE_ERROR, error -110' "$BATS_TEST_TMPDIR"/client.*
    rping_with 'connect nth=1 -> unreachable'
    grep -q 'RDMA_CM_EVENT_UNREACHABLE, error -110' "$BATS_TEST_TMPDIR"/client.*
    rping_with 'connect -> reject 8'
    grep -q 'RDMA_CM_EVENT_REJECTED, error 8' "$BATS_TEST_TMPDIR"/client.*
}

@test "rules choose by service, and by the program at the other end" {
    rping_with 'connect service=7172 -> unreachable; message peer=other -> drop; send service=7172 -> flush'
    all_is_echoed
    [ -z "$(log)" ]
    rping_with 'send service=7171 nth=2 -> retry_exceeded'
    [ "$status" -ne 0 ]
    log | grep -qx 'send program=rping service=7171 qp=1 nth=2 -> retry_exceeded'
    rping_with 'connect service=7171 -> unreachable'
    grep -q 'RDMA_CM_EVENT_UNREACHABLE, error -110' "$BATS_TEST_TMPDIR"/client.*
    export SOFTVERBS_CONNECT_TIMEOUT=300
    rping_with 'message peer=rping -> drop'
    grep -q 'RDMA_CM_EVENT_UNREACHABLE, error -110' "$BATS_TEST_TMPDIR"/client.*
}

# Two ranks of four are cut off from each other: whoever has sent to the other hears nothing.
@test "two processes of several are cut off from each other" {
    need_program ib_send_bw
    local pair
    declare -A ended
    for pair in 1:18601 2:18602; do
        start "server${pair%:*}" env PMI_RANK="${pair%:*}" "$tool" run ib_send_bw -F -p "${pair#*:}" -s 64 -n 1000
        await_port "server${pair%:*}" "${pair#*:}"
    done
    "$tool" fault add 'request rank=0 peer_rank=2 -> silence'
    "$tool" fault add 'request rank=2 peer_rank=0 -> silence'
    for pair in 1:18601 2:18602; do
        start "client${pair%:*}" env PMI_RANK=0 "$tool" run ib_send_bw -F -p "${pair#*:}" -s 64 -n 1000 -u 8 127.0.0.1
        ended[${pair%:*}]=0
        await_end "client${pair%:*}" || ended[${pair%:*}]=$?
    done
    [ "${ended[1]}" -eq 0 ]
    [ "${ended[2]}" -ne 0 ]
    grep -q 'Failed status 12:' "$BATS_TEST_TMPDIR"/client2.*
    log | grep -qx 'request program=ib_send_bw rank=0 peer_rank=2 qp=1 -> silence'
}

@test "messages of the connection manager are late, come twice, or get lost" {
    rping_with 'req -> delay 100ms; rtu -> duplicate; dreq -> duplicate'
    all_is_echoed
    export SOFTVERBS_CONNECT_TIMEOUT=300
    rping_with 'req -> drop'
    grep -q 'RDMA_CM_EVENT_UNREACHABLE, error -110' "$BATS_TEST_TMPDIR"/client.*
}

@test "ibv_asyncwatch shows what a port and a device tell" {
    need_program ibv_asyncwatch
    start watch "$tool" run stdbuf -oL ibv_asyncwatch
    await_line watch 'async event FD'
    "$tool" fault add 'async_event event=sm_change -> duplicate'
    "$tool" fault add 'port soft0 after=1ms: sm_change'
    await_line watch IBV_EVENT_SM_CHANGE
    "$tool" fault add 'port soft0: lid_change every 20ms'
    await_line watch IBV_EVENT_LID_CHANGE
    "$tool" fault add 'device -> fatal'
    await_line watch IBV_EVENT_DEVICE_FATAL
    [ "$(grep -c IBV_EVENT_SM_CHANGE "$BATS_TEST_TMPDIR/watch.out")" -eq 2 ]
    log | grep -qx 'async_event program=ibv_asyncwatch event=sm_change -> duplicate'
    log | grep -qx 'device -> fatal'
}

@test "a connection of rdma_cm ends at the request that a rule names" {
    rping_with 'send nth=3 -> disconnect' 100000
    grep -q 'RDMA_CM_EVENT_DISCONNECTED' "$BATS_TEST_TMPDIR"/client.*
    grep -q 'RDMA_CM_EVENT_DISCONNECTED' "$BATS_TEST_TMPDIR"/server.*
    log | grep -qx 'send program=rping qp=1 nth=3 -> disconnect'
}

@test "UCX puts datagrams in order again, and repeats those that are lost" {
    need_program ucx_perftest
    start server "$tool" run --only env UCX_TLS=ud UCX_NET_DEVICES=soft0:1 ucx_perftest -p 13337
    await_port server 13337
    start client "$tool" run --only --faults 'send type=ud probability=0.05 -> reorder; send type=ud every=500 -> drop' \
        env UCX_TLS=ud UCX_NET_DEVICES=soft0:1 ucx_perftest -p 13337 -t tag_lat -n 2000 127.0.0.1
    await_end client
    [ "$(log | grep -c ' -> reorder')" -gt 20 ]
    log | grep -q ' -> drop'
}

@test "a DAT program without the preload obeys SOFTVERBS_FAULTS, and is told why its connection ended" {
    use_stack ours "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" 'soft0 0'
    start server "${stack[@]}" "$TOP_BUILDDIR/dat_ping" --ia ia --listen
    await_line server 'listen'
    start client "${stack[@]}" SOFTVERBS_FAULTS='send:nth=3 -> retry_exceeded' "$TOP_BUILDDIR/dat_ping" --ia ia --count 5 --interval 0.01 127.0.0.1
    await_end client || true
    grep -q 'a fault rule asks for it' "$BATS_TEST_TMPDIR/client.err"
    start client "${stack[@]}" SOFTVERBS_FAULTS='send:nth=3 -> disconnect' "$TOP_BUILDDIR/dat_ping" --ia ia --count 5 --interval 0.01 127.0.0.1
    await_end client || true
    grep -q ': the connection has ended' "$BATS_TEST_TMPDIR/client.out"
    log | grep -qx 'send program=dat_ping qp=[0-9]* nth=3 -> disconnect'
}

@test "a DAT program is told once that the device refuses posts" {
    use_stack ours "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" 'soft0 0'
    local rule kind
    start server "${stack[@]}" "$TOP_BUILDDIR/dat_ping" --ia ia --listen
    await_line server 'listen'
    for rule in 'post_send nth=3 -> fail ENOMEM' 'post_recv nth=6 -> fail EIO'; do
        start client "${stack[@]}" SOFTVERBS_FAULTS="$rule" "$TOP_BUILDDIR/dat_ping" --ia ia --count 20 --interval 0.01 127.0.0.1
        await_end client || true
        kind=request
        [[ $rule != post_recv* ]] || kind=receive
        [ "$(grep -c "device soft0 refuses a $kind: .*DAT102" "$BATS_TEST_TMPDIR/client.err")" -eq 1 ]
    done
}

@test "rules are added to programs that run, listed, logged and removed" {
    need_program ib_send_bw
    start server "$tool" run ib_send_bw -F -s 64 --run_infinitely
    await_port server 18515
    start client "$tool" run ib_send_bw -F -s 64 --run_infinitely 127.0.0.1
    await_line client 'BW average'
    [ -z "$("$tool" fault)" ]
    run "$tool" fault add 'send:program=ib_send_bw,nth=1 -> delay 1ms'
    [ "$status" -eq 0 ]
    [ "$output" = '1 rule in force, told 2 processes' ]
    eventually test -s "$fabric/faults.log"
    run "$tool" fault add 'send program=ib_send_bw nth=1000 -> remote_operation'
    [ "$status" -eq 0 ]
    # The client may have ended by it before it greets.
    [[ $output = '2 rules in force, told '* ]]
    await_end client || true
    [ "$("$tool" fault list)" = 'send program=ib_send_bw nth=1 -> delay 1ms
send program=ib_send_bw nth=1000 -> remote_operation' ]
    "$tool" fault --json list | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["rules"]) == 2'
    "$tool" fault --json log | python3 -c '
import json, sys
faults = json.load(sys.stdin)["faults"]
assert faults[0]["rule"] == "send program=ib_send_bw qp=1 nth=1 -> delay 1ms", faults
assert faults[0]["remark"].startswith("pid "), faults'
    [ "$("$tool" fault log | wc -l)" -eq 2 ]
    run "$tool" fault clear
    [ "$status" -eq 0 ]
    [[ $output = '0 rules in force, told '* ]]
    [ -z "$("$tool" fault)" ]
}

@test "rules that are wrong are refused with the place and a suggestion, before anything starts" {
    run "$tool" run --faults 'write:nth=1 -> rety_exceeded' true
    [ "$status" -eq 125 ]
    [ "${lines[0]}" = "softverbs: --faults: line 1: 'rety_exceeded', did you mean 'retry_exceeded'?" ]
    run "$tool" run --faults "@$BATS_TEST_TMPDIR/missing" true
    [ "$status" -eq 125 ]
    [[ ${lines[0]} = *"/missing: No such file or directory" ]]
    run "$tool" run --seed many true
    [ "$status" -eq 125 ]
    [[ ${lines[0]} = *"--seed: 'many' is not a number from 1 to 2147483647" ]]
    run "$tool" fault add 'wirte -> flush'
    [ "$status" -eq 2 ]
    [ "${lines[0]}" = "softverbs fault: 'wirte', did you mean 'write'?" ]
    run "$tool" fault add
    [ "$status" -eq 2 ]
    run "$tool" fault explode
    [ "$status" -eq 2 ]
    [ "${lines[0]}" = "softverbs fault: 'explode' is none of list, add, clear, log" ]
    [ ! -e "$fabric/faults" ]
}

# usage: yaml_rules - writes a file of rules in each form.
yaml_rules() {
    cat >"$BATS_TEST_TMPDIR/rules.yaml" <<'RULES'
# each form
- write: program=ib_write_bw nth=1000 -> retry_exceeded
- "send nth=3 -> delay 1ms"
- {on: request, type: rc, size: 64-4KiB, probability: 0.5, do: {delay: 1us}}
- on: port soft1/2
  do: {down: {for: 2s, every: 10s}}
RULES
}

@test "a YAML file of rules is right by its schema, and is handed to the program as text" {
    yaml_rules
    # Names and values stay texts: Python reads YAML 1.1, in which "on" is a truth.
    python3 -c 'import json, sys, yaml; json.dump(yaml.load(sys.stdin, yaml.BaseLoader), sys.stdout)' <"$BATS_TEST_TMPDIR/rules.yaml" |
        python3 "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/softverbs_faults.json"
    never sh -c "echo '[{\"on\": \"write\"}]' | python3 '$TOP_SRCDIR/test/tools/check-schema' '$TOP_SRCDIR/doc/schema/softverbs_faults.json'"
    rules=$("$tool" run --faults "@$BATS_TEST_TMPDIR/rules.yaml" sh -c 'echo "$SOFTVERBS_FAULTS"')
    [ "$rules" = 'write program=ib_write_bw nth=1000 -> retry_exceeded
send nth=3 -> delay 1ms
request type=rc size=64-4KiB probability=0.5 -> delay 1us
port soft1/2 -> down for 2s every 10s' ]
    run "$tool" fault add "@$BATS_TEST_TMPDIR/rules.yaml"
    [ "$output" = '4 rules in force, told 0 processes' ]
    [ "$("$tool" fault list)" = "$rules" ]
    "$tool" fault clear
    perftest ib_write_bw "@$BATS_TEST_TMPDIR/rules.yaml"
    [ "$status" -ne 0 ]
    log | grep -qx 'write program=ib_write_bw qp=1 nth=1000 -> retry_exceeded'
}

@test "SOFTVERBS_FAULTS names a YAML file, and what is wrong in one is reported with its place" {
    need_program ibv_devinfo
    yaml_rules
    export SOFTVERBS_FAULTS=@$BATS_TEST_TMPDIR/rules.yaml
    run_to_end good "$tool" run --only ibv_devinfo
    grep -q 'fault rules are in force in this process: 3 ' "$BATS_TEST_TMPDIR/good.err"
    printf -- '- on: write\n  nht: 3\n  do: flush\n' >"$BATS_TEST_TMPDIR/rules.yaml"
    start bad "$tool" run --only ibv_devinfo
    never await_end bad
    grep -qF "$BATS_TEST_TMPDIR/rules.yaml cannot be used: line 2, column 3: 'nht', did you mean 'nth'?" "$BATS_TEST_TMPDIR/bad.err"
    unset SOFTVERBS_FAULTS
    run "$tool" run --faults "@$BATS_TEST_TMPDIR/rules.yaml" true
    [ "$status" -eq 125 ]
    [ "${lines[0]}" = "softverbs: --faults: $BATS_TEST_TMPDIR/rules.yaml: line 2, column 3: 'nht', did you mean 'nth'?" ]
    run "$tool" fault add "@$BATS_TEST_TMPDIR/rules.yaml"
    [ "$status" -eq 2 ]
    [ "${lines[0]}" = "softverbs fault: $BATS_TEST_TMPDIR/rules.yaml: line 2, column 3: 'nht', did you mean 'nth'?" ]
    run "$tool" explore --faults "@$BATS_TEST_TMPDIR/rules.yaml" -- true
    [ "$status" -eq 2 ]
    [[ ${lines[0]} = "softverbs explore: --faults: $BATS_TEST_TMPDIR/rules.yaml: line 2, column 3: 'nht', did you mean 'nth'?"* ]]
}

@test "with a time scale, an unanswered connection request ends early" {
    # An hour, of which nobody waits more than the deadline.
    export SOFTVERBS_CONNECT_TIMEOUT=3600000
    export SOFTVERBS_TIME_SCALE=100000
    rping_with 'req -> drop'
    [ "$status" -ne 0 ]
    grep -q 'RDMA_CM_EVENT_UNREACHABLE, error -110' "$BATS_TEST_TMPDIR"/client.*
}

@test "with a time scale, retries that take an hour end early" {
    export SOFTVERBS_TIME_SCALE=100000
    perftest ib_write_bw 'write:nth=100 -> silence' --qp-timeout=25
    [ "$status" -ne 0 ]
    has client 'Failed status 12:' || grep -q 'Failed status 12:' "$BATS_TEST_TMPDIR/client.err"
}

@test "with a time scale, the times of rules are shorter" {
    export SOFTVERBS_TIME_SCALE=100000
    perftest ib_send_bw 'send:nth=5 -> delay 60min'
    [ "$status" -eq 0 ]
    log | grep -qx 'send program=ib_send_bw qp=1 nth=5 -> delay 60min'
    run "$tool" run --time-scale 0 true
    [ "$status" -eq 125 ]
    [ "${lines[0]}" = "softverbs: --time-scale: '0' is not a number from 1 to 100000" ]
}
