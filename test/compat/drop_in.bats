#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests softverbs run --drop-in, for programs that open libibverbs and librdmacm by name: dlopen
# does not look at a preloaded library.
load helpers

tool=$TOP_BUILDDIR/softverbs
program=$TOP_BUILDDIR/test/compat/dlopen_verbs

setup() {
    start_network
    need_library libibverbs.so.1 librdmacm.so.1
}
teardown() { stop_all; }

drop_in() {
    "$tool" run --drop-in sh -c 'echo "${LD_LIBRARY_PATH%%:*}"'
}

@test "a program that finds verbs by dlopen and dlvsym sees soft0 with --drop-in, and not without" {
    run_to_end with "$tool" run --drop-in "$program"
    has with '^device soft0$'
    run_to_end without "$tool" run "$program"
    never grep soft0 "$BATS_TEST_TMPDIR/without.out"
    is_silent with without
}

@test "rdma-core's own drivers, which use its private version nodes, load in front of the drop-in" {
    drivers=$(ldconfig -p | awk '$1 ~ /^lib(mlx4|mlx5|efa|mana)\.so\.1$/ { print $1 }' | sort -u)
    [ -n "$drivers" ] || skip "no driver of rdma-core is installed as a library"
    # shellcheck disable=SC2086 # a list of words
    run_to_end load "$tool" run --drop-in "$program" $drivers
    for driver in $drivers; do has load "^$driver: loaded$"; done
    has load '^device soft0$'
}

@test "every version node of the installed libraries is there: a program bound at its start finds no version missing" {
    need_program ib_write_lat rping
    folder=$(drop_in)
    for peer in ib_write_lat rping ibv_devinfo; do
        found=$(LD_LIBRARY_PATH=$folder ldd -v "$(command -v "$peer")" 2>&1)
        [[ $found == *"$folder/libibverbs.so.1"* && $found != *"not found"* && $found != *"no version information"* ]] ||
            { echo "$found"; false; }
    done
}

@test "linked programs run with --drop-in as without: ib_write_lat, between two processes" {
    need_program ib_write_lat
    start server "$tool" run --drop-in stdbuf -oL ib_write_lat -F -n 100
    await_port server 18515
    run_to_end client "$tool" run --drop-in ib_write_lat -F -n 100 127.0.0.1
    await_end server
    has client '^ *2[[:space:]]+100[[:space:]]'
}

@test "a real device stays visible with --drop-in, to dlopen as to the linker" {
    system=$BATS_TEST_TMPDIR/system
    mkdir "$system"
    ln -s "$TOP_BUILDDIR/test/compat/.libs/fake_ibverbs.so" "$system/libibverbs.so.1"
    ln -s "$TOP_BUILDDIR/test/compat/.libs/fake_rdmacm.so" "$system/librdmacm.so.1"
    run_to_end opened env LD_LIBRARY_PATH="$system" "$tool" run --drop-in "$program"
    prints opened <<'LINES'
device fake0
device soft0
LINES
    run_to_end linked env LD_LIBRARY_PATH="$system" "$tool" run --drop-in "$TOP_BUILDDIR/test/compat/both_devices"
    has linked '^fake0: max_qp 11$'
    has linked '^soft0: max_qp another$'
    is_silent opened linked
}

@test "the directory is built once, used again as it is, and mended when it is damaged" {
    folder=$(drop_in)
    [[ $folder == "$fabric"/drop-in-* ]]
    before=$(stat -c '%i %y' "$folder"/*)
    [ "$(drop_in)" = "$folder" ]
    [ "$(stat -c '%i %y' "$folder"/*)" = "$before" ]
    echo damaged >"$folder/libibverbs.so.1"
    run_to_end again "$tool" run --drop-in "$program"
    has again '^device soft0$'
    [ "$(find "$folder" -type f | wc -l)" -eq 2 ]
    # A drop-in inside another adds nothing.
    [ "$("$tool" run --drop-in "$tool" run --drop-in sh -c 'echo "$LD_LIBRARY_PATH"')" = "$folder" ]
}

@test "a fabric that LD_LIBRARY_PATH cannot name is refused with the reason, and the program is not started" {
    run "$tool" run --fabric "$BATS_TEST_TMPDIR/a:b" --drop-in touch "$BATS_TEST_TMPDIR/started"
    [ "$status" -eq 125 ]
    [[ $output == *"has a colon"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/started" ]
}

@test "what LD_LIBRARY_PATH held before stays behind it" {
    folder=$(drop_in)
    [ "$(LD_LIBRARY_PATH=/nonexistent "$tool" run --drop-in sh -c 'echo "$LD_LIBRARY_PATH"')" = "$folder:/nonexistent" ]
}

@test "the drop-in works from a file system where nothing may be executed" {
    [ "$EUID" = 0 ] || skip "only root can mount"
    unshare -m true 2>/dev/null || skip "mount name spaces are not permitted here"
    mkdir -m 700 "$BATS_TEST_TMPDIR/mounted"
    run_to_end noexec unshare -m sh -c 'mount -t tmpfs -o noexec,mode=700 none "$1" && shift && exec "$@"' sh \
        "$BATS_TEST_TMPDIR/mounted" "$tool" run --fabric "$BATS_TEST_TMPDIR/mounted" --drop-in "$program"
    has noexec '^device soft0$'
}
