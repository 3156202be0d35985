#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the watchdog of every test (test/support/watch) with scripts that speak TAP.
load ../compat/helpers
watch=$TOP_SRCDIR/test/support/watch

setup() {
    export TEST_TIME_SCALE=0.01
    script=$BATS_TEST_TMPDIR/script
    printf '#!/bin/bash\nprintf "# test first\\n# test second\\n# test third\\n1..3\\nok 1 - first\\n"\n' >"$script"
    chmod +x "$script"
}

# usage: watched BEHIND_THE_FIRST_TEST - runs the script with these commands at its end.
watched() {
    echo "$1" >>"$script"
    run "$watch" "$script" 3>&-
    echo "$output"
}

# usage: is_gone PROCESS - it must be gone or a zombie, which the first process of a container may
# leave.
is_gone() {
    never grep -qE '^State:[[:space:]]+[^XZ[:space:]]' "/proc/$1/status" 2>/dev/null
}

prints() { # LINE...
    local line
    for line in "$@"; do
        grep -qxF -e "$line" <<<"$output" || { echo "no line: $line"; return 1; }
    done
}

@test "what a script prints goes through, with the time of each test" {
    watched 'printf "# a remark\nnot ok 2 - second\nok 3 - third # SKIP a reason"; exit 1'
    [ "$status" = 0 ]
    prints 'ok 1 - first' '# a remark' 'not ok 2 - second' 'ok 3 - third # SKIP a reason'
    [ "$(grep -cE '^# took [0-9.]+ s$' <<<"$output")" = 3 ]
    [ "$(grep -cE '^# all of it took [0-9.]+ s, and [0-9.]+ s of processors$' <<<"$output")" = 1 ]
}

@test "a test without a result in time has failed, with stacks, and so have those behind it; its processes are ended" {
    watched 'sleep 1000 & echo $! >"$0.pid"; wait'
    [ "$status" = 0 ]
    prints '# no result of second within 1.8 s' 'not ok 2 - second # timed out' 'not ok 3 - third # not run: timed out in second'
    grep -qE '^# process [0-9]+: sleep 1000' <<<"$output"
    grep -qE '^# .*nanosleep' <<<"$output"
    is_gone "$(cat "$script.pid")"
}

@test "a signal that ends a program in the middle fails its test and those behind it" {
    watched 'kill -SEGV $$'
    [ "$status" = 0 ]
    prints 'not ok 2 - second # ended by SIGSEGV' 'not ok 3 - third # not run: ended by SIGSEGV in second'
}

@test "a program that ends before its last test, and one that ends before its plan, have failed" {
    watched 'exit 0'
    [ "$status" = 0 ]
    prints 'not ok 2 - second # ended with status 0' 'not ok 3 - third # not run: ended with status 0 in second'
    run "$watch" false
    [ "$status" = 0 ]
    prints '1..1' 'not ok 1 - test 1 # ended with status 1'
}

@test "a program that is killed or fails after its last test has not passed" {
    watched 'printf "ok 2 - second\nok 3 - third\n"; [ -z "$KILLED" ] || kill -KILL $$; exit 5'
    [ "$status" = 5 ]
    KILLED=yes run "$watch" "$script" 3>&-
    [ "$status" = 137 ]
}

@test "a process left running is a failure that names it, whatever session it is in, and is ended; it holds nobody up" {
    watched 'printf "ok 2 - second\nok 3 - third\n"; setsid sleep 1000 2>/dev/null & echo $! >"$0.pid"; exit 0'
    [ "$status" = 0 ]
    prints "not ok 4 - nothing is left running # left: $(cat "$script.pid") sleep 1000"
    is_gone "$(cat "$script.pid")"
}

@test "a countdown that bats has forgotten holds nobody up" {
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/bash\nsleep 1000 & trap "kill $!; exit" ABRT\nwait\n' >"$script-bats-exec-test"
    chmod +x "$script-bats-exec-test"
    # shellcheck disable=SC2016
    watched 'printf "ok 2 - second\nok 3 - third\n"; "$0-bats-exec-test" & wait'
    [ "$status" = 0 ]
    prints 'ok 3 - third'
    never grep -qE '^not ok|no result' <<<"$output"
}

@test "what ends by itself right behind the program has not been left" {
    export TEST_TIME_SCALE=1
    watched 'printf "ok 2 - second\nok 3 - third\n"; sleep 0.2 & exit 0'
    [ "$status" = 0 ]
    never grep 'not ok' <<<"$output"
}

@test "orphans that end by the hundred at the same time are reaped, each once" {
    export TEST_TIME_SCALE=1
    watched 'for i in {1..400}; do (sleep 0.0$((i % 10)) &); done; wait; sleep 0.2; printf "ok 2 - second\nok 3 - third\n"'
    [ "$status" = 0 ]
    never grep -E "not ok|Traceback" <<<"$output"
}

@test "each program has directories and, for root, a network of its own; the directories are gone at the end" {
    watched 'printf "ok 2 - second\nok 3 - third\n"; echo "# $TMPDIR $SOFTVERBS_FABRIC"; stat -c "# %a %n" "$SOFTVERBS_FABRIC" \
        "$OPENDAT_STATUS_DIRECTORY" "$OPENDAT_REGISTRATION_DIRECTORY"; echo "# network $(readlink /proc/self/ns/net)"
        grep -c : /proc/net/dev | sed "s/^/# interfaces /"'
    local own
    own=$(sed -n 's/^# \(\/[^ ]*\) [^ ]*\/fabric$/\1/p' <<<"$output")
    [ -n "$own" ] && [ ! -e "$own" ]
    prints "# 700 $own/fabric" "# 700 $own/status" "# 700 $own/registrations"
    [ "$(id -u)" = 0 ] || skip "not root"
    prints '# interfaces 1'
    never grep -qF "# network $(readlink /proc/self/ns/net)" <<<"$output"
    export HOST_NETWORK=/script
    run "$watch" "$script" 3>&-
    grep -qF "# network $(readlink /proc/self/ns/net)" <<<"$output"
}

@test "SIGTERM ends the program's processes, and fails no test" {
    echo 'sleep 1000 & echo $! >"$0.pid"; wait' >>"$script"
    TEST_TIME_SCALE=1 "$watch" "$script" >"$script.out" 3>&- &
    watching=$!
    until [ -s "$script.pid" ]; do sleep 0.05; done
    kill "$watching"
    status=0
    wait "$watching" || status=$?
    [ "$status" = 143 ]
    is_gone "$(cat "$script.pid")"
    [ "$(grep -c 'not ok' "$script.out")" = 0 ]
}

@test "the tests of a bats script are known by their names before they run" {
    printf '@test "the \\"first\\"" { true; }\n@test "the second" { kill -KILL $PPID; sleep 1000; }\n@test "the third" { true; }\n' >"$script.bats"
    run "$watch" bats --tap "$script.bats" 3>&-
    echo "$output"
    [ "$(grep -c '^not ok 3 - the third # ' <<<"$output")" = 1 ]
}
