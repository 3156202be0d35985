#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Completion of the tools' command lines in bash.
load ../compat/helpers

# usage: completed WORD... - what bash offers for the last word.
completed() {
    env PATH="$TOP_BUILDDIR:$PATH" DAT_OVERRIDE="$BATS_TEST_TMPDIR/dat.conf" bash -c '
        . "$TOP_SRCDIR/etc/bash-completion"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _opendat "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"' completion "$@"
}

# usage: offers WORD... -- EXPECTED...
offers() {
    local words=()
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    completed "${words[@]}" >"$BATS_TEST_TMPDIR/offered"
    printf '%s\n' "$@" | diff - "$BATS_TEST_TMPDIR/offered"
}

@test "options are completed from --help, long and short" {
    offers dat_trace --da -- --dapl --dat
    offers dat_perf --si -- --signal-rate --size
    offers dat_strerror -l -- -l
    offers softverbs --ver -- --version
    offers dtest --buf -- --buffer-length
}

@test "every tool is completed, and offers all options that its --help names" {
    tools=$(sed -n 's/^complete -F _opendat //p' "$TOP_SRCDIR/etc/bash-completion")
    [ "$(wc -w <<<"$tools")" -ge 10 ]
    for tool in $tools; do
        [ -x "$TOP_BUILDDIR/$tool" ] || continue
        "$TOP_BUILDDIR/$tool" --help | grep -oE '^ +(-[A-Za-z0-9], ?)?--[a-z0-9-]+' | grep -oE -e '--[a-z0-9-]+' | sort -u >"$BATS_TEST_TMPDIR/help"
        completed "$tool" -- >"$BATS_TEST_TMPDIR/offered"
        [ -s "$BATS_TEST_TMPDIR/help" ]
        diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/offered"
    done
}

@test "the options of a command are those of its own --help" {
    offers softverbs ru -- run
    offers softverbs ls --js -- --json
}

@test "an argument is completed by what it is: files, adapters of dat.conf" {
    printf 'soft0 u2.0 threadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""\n' >"$BATS_TEST_TMPDIR/dat.conf"
    touch "$BATS_TEST_TMPDIR/some.core"
    offers dat_trace --core "$BATS_TEST_TMPDIR/some" -- "$BATS_TEST_TMPDIR/some.core"
    offers dat_perf --provider so -- soft0
    offers dat_info --explain so -- soft0
}
