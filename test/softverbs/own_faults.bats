#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Our own programs and libraries under seeds of fault rules. Under those of own_faults.yaml no process crashes or
# hangs, and those that end well leave nothing behind; under those of own_noise.yaml all end well. make
# check-long, or OWN_FAULT_SEEDS=N, tries more seeds, those from OWN_FAULT_FIRST_SEED on.
load ../compat/helpers

tool=$TOP_BUILDDIR/softverbs

setup() {
    unshare -n true 2>/dev/null || unshare -rn true 2>/dev/null || skip "a network of its own is not permitted here"
    export TMPDIR=$BATS_TEST_TMPDIR/t TOP_BUILDDIR
    mkdir "$TMPDIR"
    seeds=${OWN_FAULT_SEEDS:-$((2 * ${TEST_SCALE:-1}))}
    first=${OWN_FAULT_FIRST_SEED:-1}
    patience=5
}

# usage: program_of NAME - prints its path, without libtool's script in front of it.
program_of() {
    if [ -x "$TOP_BUILDDIR/.libs/$1" ]; then echo "$TOP_BUILDDIR/.libs/$1"; else echo "$TOP_BUILDDIR/$1"; fi
}

# usage: passes RULES STACK PORT PROGRAM SERVER CLIENT [OPTION]... - runs the program as a server and its client
# over the stack (explored_pair) with these options, and explore with the others.
passes() {
    local rules=$1 stack=$2 port=$3 program server=$5 client=$6
    program=$(program_of "$4")
    shift 6
    run timeout "$(scaled 600)" "$tool" explore --only --seeds "$seeds" --first-seed "$first" --time-scale 200 \
        --timeout "$(scaled 60)" --ignore-output "$@" \
        --faults "@$TOP_SRCDIR/test/softverbs/$rules.yaml" -- \
        "$TOP_SRCDIR/test/softverbs/explored_pair" "$stack" "$port" "$program $server" "$program $client"
    [ "$status" -eq 0 ]
    [[ ${lines[-1]} =~ ^"$seeds runs"?", 0 failed"$ ]]
    [ -z "$(ls -A "$TMPDIR")" ]
}

# usage: bears STACK PORT PROGRAM SERVER CLIENT - the program may fail, as faults make it.
bears() { passes own_faults "$@" --accept 1; }

# usage: notices_nothing STACK PORT PROGRAM SERVER CLIENT
notices_nothing() { passes own_noise "$@"; }

# usage: dtest bears|notices_nothing STACK, and so on for the others
dtest() { "$1" "$2" 15828 dtest "-b 4096 -B 50 --timeout=$(scaled "$patience")" "-b 4096 -B 50 --timeout=$(scaled "$patience") -h 127.0.0.1"; }
extensions() { "$1" "$2" 15828 dtest_ext "--timeout=$(scaled "$patience")" "--timeout=$(scaled "$patience") -h 127.0.0.1"; }
perf() {
    "$1" "$2" 15829 dat_perf "--timeout $(scaled "$patience")" \
        "--timeout $(scaled "$patience") -q -n 200 -s 64,8K -E 2 127.0.0.1"
}

@test "faults: dtest over libdaplsoft" { dtest bears cma; }
@test "faults: dtest over libdaploscm and softverbs" { dtest bears scm; }
@test "faults: dtest over libdaploucm and softverbs" { dtest bears ucm; }
@test "faults: dtest with shared registrations" { dtest bears broker; }
@test "faults: dtest with shared registrations and dat_regd" { dtest bears regd; }
@test "faults: dtest_ext over libdaplsoft" { extensions bears cma; }
@test "faults: dtest_ext over libdaploscm and softverbs" { extensions bears scm; }
@test "faults: dtest_ext over libdaploucm and softverbs" { extensions bears ucm; }
@test "faults: dat_perf over libdaplsoft" { perf bears cma; }
@test "faults: dat_perf over libdaploscm and softverbs" { perf bears scm; }
@test "faults: dat_perf over libdaploucm and softverbs" { perf bears ucm; }
@test "faults: dat_perf with shared registrations and dat_regd" { perf bears regd; }

# What is lost or late is repeated or awaited.
@test "noise: dtest over libdaplsoft" { patience=30 dtest notices_nothing cma; }
@test "noise: dtest over libdaploscm and softverbs" { patience=30 dtest notices_nothing scm; }
@test "noise: dtest over libdaploucm and softverbs" { patience=30 dtest notices_nothing ucm; }
@test "noise: dtest with shared registrations" { patience=30 dtest notices_nothing broker; }
@test "noise: dat_perf over libdaplsoft" { patience=30 perf notices_nothing cma; }
@test "noise: dat_perf over libdaploucm and softverbs" { patience=30 perf notices_nothing ucm; }
