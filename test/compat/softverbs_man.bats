#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks softverbs(1) and softverbs(7), as built, against the program and the table of settings.
load helpers

tool=$TOP_BUILDDIR/softverbs
pages=$TOP_BUILDDIR/doc/man

setup() {
    need_program mandoc
    [ -e "$pages/softverbs.1" ] || missing "scdoc was not installed when the manual pages were built"
}

text_of() {
    mandoc -T ascii "$pages/$1" | sed 's/.\x08//g'
}

@test "softverbs --help, that of each command, and softverbs(1) name the same options" {
    for command in "" run ls clean; do
        # shellcheck disable=SC2086 # none, or a word
        "$tool" $command --help
    done | sed -nE 's/^ +(-[a-zA-Z], )?(--[a-z-]+).*/\2/p' | sort -u >"$BATS_TEST_TMPDIR/help"
    text_of softverbs.1 | sed -n '/^OPTIONS/,/^OUTPUT/s/^ \+\(-[a-zA-Z], \)\?\(--[a-z-]\+\).*/\2/p' | sort -u >"$BATS_TEST_TMPDIR/page"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -ge 7 ]
    diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/page"
}

@test "softverbs(7) lists each SOFTVERBS_ setting, and no other" {
    sed -nE 's/^SETTING\([A-Za-z]+, "(SOFTVERBS_[A-Z_]+)".*/\1/p' "$TOP_SRCDIR/support/settings/settings.def" | sort >"$BATS_TEST_TMPDIR/table"
    text_of softverbs.7 | sed -nE '/^SETTINGS/,/^CONTAINERS/s/^ +(SOFTVERBS_[A-Z_]+)$/\1/p' | sort >"$BATS_TEST_TMPDIR/page"
    [ -s "$BATS_TEST_TMPDIR/table" ]
    diff "$BATS_TEST_TMPDIR/table" "$BATS_TEST_TMPDIR/page"
}

@test "softverbs(1) documents every name that softverbs ls --json prints" {
    need_program ibv_rc_pingpong perl
    start_network
    start server "$tool" run ibv_rc_pingpong
    await_port server 18515
    eventually lists_queue_pair
    perl -MJSON::PP -e 'local $/; my %seen;
        sub names { my ($n) = @_; if (ref $n eq "HASH") { $seen{$_} = 1, names($n->{$_}) for keys %$n }
            elsif (ref $n eq "ARRAY") { names($_) for @$n } }
        names(decode_json(<STDIN>)); print "$_\n" for sort keys %seen' <"$BATS_TEST_TMPDIR/ls.json" >"$BATS_TEST_TMPDIR/names"
    stop_all
    [ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -ge 30 ]
    text_of softverbs.1 >"$BATS_TEST_TMPDIR/page"
    while read -r name; do
        grep -qw -- "$name" "$BATS_TEST_TMPDIR/page" || { echo "not in the page: $name"; false; }
    done <"$BATS_TEST_TMPDIR/names"
}

lists_queue_pair() {
    "$tool" ls --json >"$BATS_TEST_TMPDIR/ls.json"
    grep -q '"destination"' "$BATS_TEST_TMPDIR/ls.json"
}
