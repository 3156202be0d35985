#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# machine: none
# Tests the machine itself, from outside: what the other files of this directory rely on.

setup() {
    machine=$TOP_SRCDIR/test/kernel/machine
    cd "$BATS_TEST_TMPDIR" || return
}

# usage: try OPTIONS... -- COMMAND... - runs the machine; leaves $status, and the files stdout and
# stderr.
try() {
    status=0
    timeout 400 "$machine" "$@" >stdout 2>stderr || status=$?
    echo "status $status"
    head stdout stderr
}

@test "the command's exit status, its two streams apart, its arguments and environment as they are" {
    export GREETING=$'two  words\nand a line'
    # shellcheck disable=SC2016 # for the guest
    try -- bash -c 'printf "%s|" "$@" "$GREETING"; echo complaint >&2; exit 7' name 'a  b' '*' '' "it's"
    [ "$status" -eq 7 ]
    [ "$(cat stdout)" = "a  b|*||it's|$GREETING|" ]
    [ "$(cat stderr)" = complaint ]
}

@test "the guest sees this machine's files, and writes only in the shared directory" {
    mkdir shared
    echo ours >outside
    try --share shared -- bash -c "cat '$PWD/outside'; echo theirs >'$PWD/outside'; echo new >'$PWD/elsewhere'; echo result >here"
    [ "$status" -eq 0 ]
    [ "$(cat stdout)" = ours ]
    [ "$(cat outside)" = ours ]
    [ ! -e elsewhere ]
    [ "$(cat shared/here)" = result ]
}

@test "two RDMA devices, and two more with --wire, whose packets cross the cable" {
    try -- rdma link
    [ "$(grep -c 'state ACTIVE' stdout)" -eq 2 ]
    # shellcheck disable=SC2016 # for the guest
    try --wire -- bash -c 'rdma link; timeout 60 rping -s -a 10.77.1.2 -C 2 >/dev/null & sleep 3
        before=$(cat /sys/class/net/veth3/statistics/rx_packets); timeout 60 rping -c -a 10.77.1.2 -I 10.77.1.1 -C 2 && wait &&
        echo $(($(cat /sys/class/net/veth3/statistics/rx_packets) - before))'
    [ "$status" -eq 0 ]
    [ "$(grep -c 'state ACTIVE' stdout)" -eq 4 ]
    [ "$(tail -n 1 stdout)" -gt 4 ]
}

@test "two machines: commands in the second one, with their streams, input, status and end" {
    # shellcheck disable=SC2016 # for the guest
    try --two -- bash -c 'remote=$1
        echo input | "$remote" sh -c "hostname; cat; echo complaint >&2; exit 7"
        echo "status $?"
        timeout 3 "$remote" sleep 987 || "$remote" sh -c "while pgrep -x sleep; do sleep 0.1; done; echo ended"
        timeout 60 rping -s -a 10.78.0.1 -C 2 >/dev/null & sleep 3
        "$remote" timeout 60 rping -c -a 10.78.0.1 -C 2 && wait && echo joined
        "$remote" sh -c "echo b >/proc/sysrq-trigger" || echo "gone: $?"' two "$TOP_SRCDIR/test/kernel/remote"
    [ "$status" -eq 0 ]
    [ "$(grep -v '^[0-9]*$' stdout)" = $'machine2\ninput\nstatus 7\nended\njoined\ngone: 125' ]
    grep -qx complaint stderr
}

@test "a command that does not end is ended, and said so" {
    try --limit 2 -- sleep 1000
    [ "$status" -eq 124 ]
    grep -q 'did not end within 2 s' stderr
}

@test "a guest that does not come up is ended, and its console shown" {
    try --boot-limit 1 -- true
    [ "$status" -eq 125 ]
    grep -q 'not up within 1 s' stderr
}

@test "a guest that dies is noticed" {
    try -- bash -c 'echo c >/proc/sysrq-trigger'
    [ "$status" -eq 125 ]
    grep -q 'ended without a status' stderr
    grep -q 'sysrq_handle_crash' stderr
}

@test "a machine that is ended takes its guest with it" {
    "$machine" -- sleep 1000 3>&- &
    local process=$!
    until pgrep -P "$process" timeout; do sleep 0.1; done
    local guest
    guest=$(pgrep -P "$(pgrep -P "$process" timeout)" qemu)
    kill "$process"
    wait "$process" || status=$?
    [ "$status" -eq 143 ]
    local end=$((SECONDS + 60))
    while [ -e "/proc/$guest" ] && [ "$SECONDS" -lt "$end" ]; do sleep 0.1; done
    [ ! -e "/proc/$guest" ]
}
