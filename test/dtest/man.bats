#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks the manual pages of the test programs, as built; test/tools/pages.bats checks each page for
# faults.

load ../compat/helpers

pages=$TOP_BUILDDIR/doc/man

need_pages() {
    need_program mandoc
    [ -e "$pages/dtest.1" ] || missing "scdoc was not installed when the manual pages were built"
}

@test "dtestx(1) is dtest_ext(1)" {
    need_pages
    cmp "$pages/dtestx.1" "$pages/dtest_ext.1"
}

# usage: options_of < TEXT - prints the options that begin a line, one per line.
options_of() {
    sed -n 's/^ *\(-.*\)/\1/p' | sed 's/  .*//; s/=[A-Z]*//g; s/,//g' | tr ' ' '\n' | grep -E '^--?[a-zA-Z-]+$' | sort -u
}

# usage: same_options PROGRAM AT_LEAST - its --help and its page must name the same options, more
# than AT_LEAST.
same_options() {
    need_pages
    "$TOP_BUILDDIR/$1" --help | options_of >"$BATS_TEST_TMPDIR/help"
    mandoc -T ascii "$pages/$1.1" | sed 's/.\x08//g' |
        sed -n '/^OPTIONS/,/^OUTPUT/p' | options_of >"$BATS_TEST_TMPDIR/page"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -gt "$2" ]
    diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/page"
}

@test "dtest --help and dtest(1) name the same options" { same_options dtest 30; }
@test "dtest_ext --help and dtest_ext(1) name the same options" { same_options dtest_ext 20; }

@test "dtest_ext has the letters that scripts written for dtestx use" {
    for letter in q c s v u m p; do
        "$TOP_BUILDDIR/dtest_ext" --help | grep -qE "^  -$letter, --[a-z-]+  " || { echo "-$letter"; false; }
    done
    for letter in U h b P; do
        "$TOP_BUILDDIR/dtest_ext" --help | grep -qE "^  -$letter, --[a-z-]+=[A-Z]+" || { echo "-$letter"; false; }
    done
}

@test "dtest has the letters that scripts written for other dtests use" {
    for letter in U D a u w W t s c v p; do
        "$TOP_BUILDDIR/dtest" --help | grep -qE "^  -$letter, --[a-z-]+  " || { echo "-$letter"; false; }
    done
    for letter in b d B h P S i; do
        "$TOP_BUILDDIR/dtest" --help | grep -qE "^  -$letter, --[a-z-]+=[A-Z]+" || { echo "-$letter"; false; }
    done
}

@test "dat.conf(5): its example records are in etc/dat.conf, and are read without a complaint" {
    examples=$BATS_TEST_TMPDIR/examples
    sed -n '/^```/,/^```/p' "$TOP_SRCDIR/doc/man/dat.conf.5.scd" | grep -v '^```' | tr -s ' ' >"$examples"
    [ "$(wc -l <"$examples")" -ge 2 ]
    tr -s ' ' <"$TOP_SRCDIR/etc/dat.conf" | sed 's/^# *//' >"$BATS_TEST_TMPDIR/shipped"
    while read -r record; do
        grep -qxF -- "$record" "$BATS_TEST_TMPDIR/shipped" || { echo "not in etc/dat.conf: $record"; false; }
    done <"$examples"
    # libdat2 reports each bad line when it is first used.
    run env DAT_OVERRIDE="$examples" "$TOP_BUILDDIR/dtest" -P nosuch
    [[ $output == *DAT_NAME_NOT_REGISTERED* && $output != *"$examples:"[0-9]* ]] || { echo "$output"; false; }
    echo "soft0 u2" >>"$examples"
    run env DAT_OVERRIDE="$examples" "$TOP_BUILDDIR/dtest" -P nosuch
    [[ $output == *"$examples:$(wc -l <"$examples"):"* ]] || { echo "a bad line was not told: $output"; false; }
}
