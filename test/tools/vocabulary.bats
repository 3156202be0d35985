#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# All tools share one vocabulary of options; dtest and dtest_ext have the reference's.
load ../compat/helpers

tools='dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace softverbs'

# usage: helps TOOL - prints its --help and those of its commands.
helps() {
    "$TOP_BUILDDIR/$1" --help
    for command in $("$TOP_BUILDDIR/$1" --help | sed -nE '/^([Ss]ubcommands|commands)/,/^$/s/^  ([a-z][a-z-]*) .*/\1/p'); do
        "$TOP_BUILDDIR/$1" "$command" --help
    done
}

# usage: accepts TOOL ARGUMENT... - the tool must complain only about the unknown option behind
# them.
accepts() {
    run "$TOP_BUILDDIR/$1" "${@:2}" --nosuch
    [ "$status" = 2 ] && [[ $output = *nosuch* ]] || { echo "$* --nosuch: $output"; return 1; }
}

@test "-i, -s, -t, -j, -v, -q, -V and -h mean the same in every tool" {
    for tool in $tools; do
        helps "$tool" | sed -nE 's/^ +-([istjvqVh]), ?--([a-z-]+).*/\1 \2/p' | sort -u >"$BATS_TEST_TMPDIR/letters"
        grep -vxE 'i ia|s size|t timeout|j json|v verbose|q quiet|V version|h help' "$BATS_TEST_TMPDIR/letters" && { echo "in $tool"; false; }
        grep -qx 'j json' "$BATS_TEST_TMPDIR/letters" || { echo "$tool has no -j"; false; }
        helps "$tool" | grep -E '^ +--(ia|size|timeout|json|verbose|quiet|version|help)\b' && { echo "$tool: without its letter"; false; }
        for option in -h --help -V --version; do "$TOP_BUILDDIR/$tool" "$option" >/dev/null; done
    done
}

@test "dtest and dtest_ext have the reference's letters, and --ia, --version and -V beside them" {
    for tool in dtest dtest_ext; do
        [[ $("$TOP_BUILDDIR/$tool" -V) == "$tool "[0-9]* ]]
        [ "$("$TOP_BUILDDIR/$tool" --version)" = "$("$TOP_BUILDDIR/$tool" -V)" ]
        run env DAT_OVERRIDE=/dev/null "$TOP_BUILDDIR/$tool" --ia nosuch
        [[ $output = *nosuch* ]] || { echo "$output"; false; }
    done
}

@test "older spellings are accepted" {
    accepts dat_perf -P soft0 --provider soft0 -t latency -t 5
    accepts dat_ping -I soft0 -W 3 --qualifier 7 -i 0.5
    accepts dat_info -s
    accepts dat_info --explain soft0 -t
    accepts dat_trace -s file
    accepts dat_conf add name -t
    run "$TOP_BUILDDIR/dat_ping" -i 0 host
    [[ $output = *"'0' is not a number from 0.001"* ]]
    run "$TOP_BUILDDIR/dat_perf" -t nosuch
    [[ $output = *"'nosuch' is not one of: latency"* ]]
}

@test "no two tools meet at the same port" {
    ports=$(for tool in dat_doctor dat_perf dat_ping; do "$TOP_BUILDDIR/$tool" --help | sed -nE 's/^ +-p,.*\[([0-9]+)\].*/\1/p'; done)
    # 45248 is dtest's port, which is the reference's; 45278 is dapltest's.
    [ "$(printf '%s\n' "$ports" 45248 45278 | sort -u | wc -l)" = 5 ]
}
