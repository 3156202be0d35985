#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs programs linked with sanitizers, and programs under valgrind, on soft0: nothing is reported
# about the libraries, and faults of the programs themselves are still found.
load helpers

tool=$TOP_BUILDDIR/softverbs
suppressions=$TOP_SRCDIR/etc/suppressions

setup() { start_network; }
teardown() { stop_all; }

# usage: build COMPILER OPTIONS... - builds $program.
build() {
    need_program "$1"
    program=$BATS_TEST_TMPDIR/program
    "$1" -g -Wall -Wextra -Werror "${@:2}" -o "$program" "$TOP_SRCDIR/test/compat/sanitized.c" -libverbs -lpthread
}

# usage: works COMMAND... - runs it on soft0: all data must arrive, and nothing may be reported.
works() {
    run_to_end program "$tool" run "$@"
    is_silent program
    prints program <<<8192
}

# usage: finds PATTERN COMMAND... - the command must fail and report this.
finds() {
    local status=0
    start program "$tool" run "${@:2}"
    wait "${process_of[program]}" || status=$?
    unset 'process_of[program]'
    [ "$status" -ne 0 ] || { echo "it succeeded"; return 1; }
    grep -q "$1" "$BATS_TEST_TMPDIR/program.err" || { echo "it did not report '$1'"; return 1; }
}

address_sanitizer_works() {
    works "$program"
    works sh -c '"$@"' sh "$program"
    finds 'heap-buffer-overflow' "$program" overflow
}

@test "a program with gcc's address sanitizer, whose run time is a shared library, runs on soft0, also from a script" {
    build gcc -fsanitize=address
    address_sanitizer_works
}

@test "a program with clang's address sanitizer runs on soft0, whether its run time is linked in or a shared library" {
    build clang-14 -fsanitize=address
    address_sanitizer_works
    LD_LIBRARY_PATH=$(clang-14 -print-resource-dir)/lib/linux
    export LD_LIBRARY_PATH
    build clang-14 -fsanitize=address -shared-libsan
    address_sanitizer_works
}

@test "softverbs run keeps the program's ASAN_OPTIONS, and adds its own once" {
    options=$(ASAN_OPTIONS=detect_leaks=0 "$tool" run "$tool" run sh -c 'echo "$ASAN_OPTIONS"')
    [ "$options" = verify_asan_link_order=0:detect_leaks=0 ] || { echo "$options"; false; }
}

@test "a program with the thread sanitizer of gcc or clang runs on soft0 with the installed suppressions" {
    export TSAN_OPTIONS=suppressions=$suppressions/tsan.supp
    for compiler in gcc clang-14; do
        build "$compiler" -fsanitize=thread
        works "$program"
        finds 'data race' "$program" race
    done
}

@test "a program with the undefined-behaviour sanitizer of gcc or clang runs on soft0" {
    for compiler in gcc clang-14; do
        build "$compiler" -fsanitize=undefined -fno-sanitize-recover
        works "$program"
        finds 'shift exponent' "$program" shift
    done
}

# usage: under_valgrind TOOL - puts the command into ${valgrind[@]}. The limit of address space
# makes the arena small, which keeps helgrind's start short.
under_valgrind() {
    need_program valgrind
    valgrind=(sh -c 'ulimit -v 8000000; exec "$@"' sh
        valgrind --quiet --error-exitcode=9 "--suppressions=$suppressions/valgrind.supp" "--tool=$1")
}

@test "memcheck reports nothing of a program on soft0 but its own faults: what a peer has written is initialised" {
    build gcc
    under_valgrind memcheck
    works "${valgrind[@]}" --leak-check=full "$program"
    finds 'Invalid write' "${valgrind[@]}" "$program" overflow
}

@test "helgrind and drd report nothing of a program on soft0 but its own races" {
    build gcc
    for checker in helgrind drd; do
        under_valgrind "$checker"
        works "${valgrind[@]}" "$program"
        finds 'receive (sanitized\.c:' "${valgrind[@]}" "$program" race
    done
}

@test "DAT programs with the address or the thread sanitizer work over soft0 with the installed suppressions" {
    use_stack ours libdaplsoft.so.2 'soft0 0'
    export TSAN_OPTIONS=suppressions=$suppressions/tsan.supp
    for sanitizer in address thread; do
        for example in ping_pong event_loop; do
            gcc -g "-fsanitize=$sanitizer" "-I$TOP_SRCDIR/dat/include" -o "$BATS_TEST_TMPDIR/$example" \
                "$TOP_SRCDIR/doc/examples/$example.c" "-L$TOP_BUILDDIR/.libs" -ldat2 -lpthread
        done
        # shellcheck disable=SC2154
        start server "${stack[@]}" "$BATS_TEST_TMPDIR/event_loop" ia 0
        await_line server '^listening on port [0-9]+$'
        port=$(sed -n 's/^listening on port //p' "$BATS_TEST_TMPDIR/server.out")
        run_to_end client "${stack[@]}" "$BATS_TEST_TMPDIR/ping_pong" ia client "$server_address" "$port" 200
        has client '^200 round trips of 64 bytes, '
        pkill -TERM -P "${process_of[server]}"
        await_end server
        is_silent server client
    done
}
