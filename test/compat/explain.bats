#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests that softverbs run --explain says which device a program took, and why not soft0.
load helpers

setup() {
    start_network
    cd "$BATS_TEST_TMPDIR" || return
}
teardown() { stop_all; }

tool=$TOP_BUILDDIR/softverbs

# usage: explained STATUS|any [OPTION]... PROGRAM... - runs it; what was explained is in $said, without
# the numbers of processes.
explained() {
    local wanted=$1 status=0
    shift
    "$tool" run --explain "$@" >stdout 2>stderr </dev/null || status=$?
    [ "$wanted" = any ] || [ "$status" -eq "$wanted" ] || { echo "status $status instead of $wanted: $*"; cat stdout stderr; return 1; }
    said=$(sed -nE 's/^softverbs run: //p' stderr | sed -E 's/\((process|processes) [0-9, ]+\)/(\1)/')
}

says() { [[ $said == "$1"* ]] || { echo "said: $said"; return 1; }; }

@test "a program that took soft0" {
    need_program ibv_devinfo
    explained 0 ibv_devinfo
    [ "$said" = "ibv_devinfo (process) took soft0" ]
    grep -q 'hca_id:.soft0' stdout
    explained 0 --devices 2 ibv_devinfo
    [ "$said" = "ibv_devinfo (process) took soft0, soft1" ]
}

@test "the account is removed, and without --explain none is given" {
    mkdir accounts
    TMPDIR=$PWD/accounts explained 0 true
    [ -z "$(ls accounts)" ]
    # shellcheck disable=SC2016 # for the shell inside
    [ -z "$("$tool" run sh -c 'echo "$SOFTVERBS_EXPLAIN"' 2>&1)" ]
}

@test "a program that took another device: soft0 comes behind it" {
    ln -s "$TOP_BUILDDIR/test/compat/.libs/fake_ibverbs.so" libibverbs.so.first
    need_program ib_write_bw
    export LD_PRELOAD=$PWD/libibverbs.so.first FAKE_SYSTEM_LOG=$PWD/log
    FAKE_DEVICE_FAILS=1 explained 1 ib_write_bw -F -n 100
    says "ib_write_bw (process) could not open fake0: "
    [[ $said == *"It found fake0, soft0, and took the first, or what its options or settings name."*"--only" ]]
}

@test "a program that opens libibverbs by dlopen, and what reaches it" {
    program=$TOP_BUILDDIR/test/compat/dlopen_verbs
    explained 0 "$program"
    says "dlopen_verbs (process) opened libibverbs.so.1 by dlopen"
    [[ $said == *"softverbs run --drop-in"* ]]
    explained 0 --drop-in "$program"
    says "dlopen_verbs (process) found soft0, and opened none"
}

@test "rdma_cm, and whose it is" {
    need_program rping
    explained 255 rping -c -a 127.0.0.1 -p 7174 -C 1
    says "rping (process) called rdma_cm, which is soft0's"
    explained any --cm system rping -c -a 127.0.0.1 -p 7174 -C 1
    says "rping (process) called rdma_cm, which is the system's"
}

@test "programs that have nothing to do with verbs are left out, unless there are no others" {
    need_program ibv_devinfo
    explained 0 sh -c 'true; ibv_devinfo; ibv_devinfo; cat'
    [ "$said" = "ibv_devinfo (processes) took soft0" ]
    explained 0 true
    says "true (process) never loaded libibverbs.so.1"
}

@test "a program without the library: linked statically, with more privileges, with a new environment" {
    printf 'int main(void) { return 3; }\n' >three.c
    $CC -static -o three three.c
    explained 3 ./three
    says "./three: ./three is linked statically"
    PATH=$PWD:$PATH explained 3 three
    says "three: $PWD/three is linked statically"
    printf '#!%s\n' "$PWD/three" >script
    chmod +x script
    explained 3 ./script
    says "./script: $PWD/three is linked statically"
    explained 0 env -i "$(type -P true)"
    # env itself has the library.
    says "env (process) asked for no device before a signal ended it, or before it became another program"
    cp "$(type -P true)" privileged
    if chgrp nogroup privileged 2>/dev/null && chmod g+s privileged && [ "$(LD_PRELOAD=no-such-library ./privileged 2>&1)" = "" ]; then
        explained 0 ./privileged
        says "./privileged: ./privileged runs with more privileges"
    fi
}

@test "the program's status, its signals and those that it is sent" {
    explained 7 sh -c 'exit 7'
    explained 137 sh -c 'kill -9 $$'
    says "sh (process) asked for no device before a signal ended it"
    explained 127 ./no-such-program
    [[ $said == "./no-such-program: No such file or directory" ]]
    start waiting "$tool" run --explain sh -c 'trap "echo told; exit 5" TERM; echo ready; while :; do sleep 0.1; done'
    await_line waiting '^ready$'
    kill -TERM "${process_of[waiting]}"
    wait "${process_of[waiting]}" || [ $? -eq 5 ]
    unset "process_of[waiting]"
    has waiting '^told$'
}
