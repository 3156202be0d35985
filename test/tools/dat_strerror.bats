#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs dat_strerror as a program.
bats_require_minimum_version 1.5.0
load ../compat/helpers

dat_strerror=$TOP_BUILDDIR/dat_strerror

@test "dat_strerror explains what a failed call returned and what a library printed, each with what to do" {
    run "$dat_strerror" 0x800a0064 DAT003
    [ "$status" = 0 ]
    [[ $output == *DAT_PROVIDER_NOT_FOUND*DAT_NAME_NOT_REGISTERED*DAT003* ]]
    [ "$(grep -c 'what to do: .' <<<"$output")" = 3 ]
}

@test "dat_strerror explains the line of a library when it is given whole" {
    run env DAT_OVERRIDE=/nonexistent "$TOP_BUILDDIR/dtest" -P soft0
    line=$(grep -m 1 '^opendat: ' <<<"$output")
    run "$dat_strerror" "$line"
    [ "$status" = 0 ]
    [[ $output == *dat.conf* ]] || { echo "$line"; echo "$output"; false; }
}

@test "dat_strerror says what it does not know, with the nearest names, and ends with 1" {
    run --separate-stderr "$dat_strerror" DAT_INVALID_HANDEL DAT_ABORT
    [ "$status" = 1 ]
    [[ $stderr == *"'DAT_INVALID_HANDEL'"*DAT_INVALID_HANDLE* && $output == *DAT_ABORT* ]]
}

@test "dat_strerror refuses wrong usage with 2" {
    run --separate-stderr "$dat_strerror"
    [ "$status" = 2 ]
    [[ $stderr == *--list* ]]
    run "$dat_strerror" --list DAT_ABORT
    [ "$status" = 2 ]
}

@test "dat_strerror --json is what its schema describes, words and list, known and unknown" {
    need_program python3
    check=$TOP_SRCDIR/test/tools/check-schema schema=$TOP_SRCDIR/doc/schema/dat_strerror.json
    "$dat_strerror" --list --json | "$check" "$schema"
    { "$dat_strerror" --json 10 nosuchname 2>"$BATS_TEST_TMPDIR/errors" || [ $? = 1 ]; } | "$check" "$schema"
    never "$check" "$schema" <<<'{"tool": "dat_strerror", "version": 2, "entries": [], "unknown": []}'
}

@test "the libraries print nothing but messages of the catalogue: no source of theirs writes to stderr or stdout itself" {
    # A source that may print has a line that says so: the log, and the two calls whose purpose it
    # is to print.
    cd "$TOP_SRCDIR"
    [ "$(grep -rlF '/// Prints directly.' broker check dapl dat device providers support | wc -l)" -eq 2 ]
    found=$(grep -rLF '/// Prints directly.' --include='*.cpp' --include='*.hpp' broker check dapl dat/api dat/registry device providers support |
        xargs grep -n . | sed -E 's|[[:space:]]*//.*||' |
        grep -E '(^|[^"_])\bstderr\b|std::cerr|std::cout|\bstdout\b|perror\(|STDERR_FILENO|v?printf\(' | grep -v snprintf || true)
    [ -z "$found" ] || { echo "$found"; false; }
}

@test "colours are for a terminal alone, and not where NO_COLOR is set or the terminal is dumb" {
    need_program script
    escape=$(printf '\033')
    in_terminal() { env TERM=xterm "$@" script -qec "'$dat_strerror' DAT_ABORT" /dev/null; }
    in_terminal | grep -q "$escape\\[1mDAT_ABORT"
    never grep -q "$escape" <<<"$(in_terminal NO_COLOR=1)"
    never grep -q "$escape" <<<"$(in_terminal TERM=dumb)"
    never grep -q "$escape" <<<"$(env TERM=xterm "$dat_strerror" DAT_ABORT)"
}
