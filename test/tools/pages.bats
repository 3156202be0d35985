#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The manual pages, as built: each without faults, each tool's page with the options of its --help, no link to a page of ours that
# is not there.
load ../compat/helpers

pages=$TOP_BUILDDIR/doc/man

setup() {
    need_program mandoc jq
    [ -e "$pages/opendat.7" ] || missing "scdoc was not installed when the manual pages were built"
}

text_of() { mandoc -T ascii "$1" | sed 's/.\x08//g'; }

# usage: options_of < TEXT - the options that begin a line, one a line.
options_of() {
    sed -nE 's/^ +(-[A-Za-z0-9](,|$)|--[a-z])/\1/p' | sed -E 's/  .*//' | tr ' ,' '\n\n' | sed 's/=.*//' |
        grep -E '^--?[a-zA-Z0-9-]+$' | sort -u
}

# usage: commands_of TOOL - those that its --help names.
commands_of() { "$TOP_BUILDDIR/$1" --help | sed -nE '/^Subcommands/,/^$/s/^  ([a-z][a-z-]*) .*/\1/p'; }

# usage: same_options TOOL AT_LEAST [SECTION]
same_options() {
    local page=$pages/$1.${3:-1}
    {
        "$TOP_BUILDDIR/$1" --help
        for command in $(commands_of "$1"); do "$TOP_BUILDDIR/$1" "$command" --help; done
    } | options_of >"$BATS_TEST_TMPDIR/help"
    text_of "$page" | sed -nE '/^[A-Z ]*OPTIONS/,/^EXIT STATUS/p' | options_of >"$BATS_TEST_TMPDIR/page"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -ge "$2" ]
    diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/page"
    for command in $(commands_of "$1"); do text_of "$page" | grep -qE "(^| )$command( |$)" || { echo "$command"; false; }; done
}

@test "every manual page is without faults" {
    count=0
    for source in "$TOP_SRCDIR"/doc/man/*.scd; do
        page=$pages/$(basename "$source" .scd)
        # scdoc puts an empty paragraph macro around each heading: that alone is let pass.
        findings=$(mandoc -T lint -W warning "$page" | grep -v 'skipping paragraph macro' || true)
        [ -z "$findings" ] || { echo "$page: $findings"; false; }
        count=$((count + 1))
    done
    [ "$count" -ge 12 ]
}

@test "every manual page that a page of ours refers to as ours is there" {
    for page in "$pages"/*.[1-9]; do
        text_of "$page" | grep -oE '\b(dat_[a-z]+\([178]\)|dtest[a-z_]*\(1\)|softverbs\([17]\)|opendat[a-z_.]*\([57]\)|dat\.conf\(5\))' | sort -u
    done | sort -u | sed -E 's/\((.)\)/.\1/' | while read -r name; do
        [ -e "$pages/$name" ] || { echo "$name is not there"; false; }
    done
}

@test "there are pages of sections 5 and 7 for configuration, overview, extensions, softverbs and security" {
    for page in dat.conf.5 opendat.yaml.5 opendat.7 opendat_extensions.7 opendat_security.7 softverbs.7; do
        [ -s "$pages/$page" ] || { echo "$page"; false; }
    done
}

@test "dat_conf --help and dat_conf(1) name the same options and commands" { same_options dat_conf 5; }
@test "dat_doctor --help and dat_doctor(1) name the same options" { same_options dat_doctor 5; }
@test "dat_info --help and dat_info(1) name the same options" { same_options dat_info 8; }
@test "dat_perf --help and dat_perf(1) name the same options" { same_options dat_perf 30; }
@test "dat_ping --help and dat_ping(1) name the same options" { same_options dat_ping 8; }
@test "dat_regd --help and dat_regd(8) name the same options" { same_options dat_regd 8 8; }
@test "dat_stat --help and dat_stat(1) name the same options" { same_options dat_stat 6; }
@test "dat_strerror --help and dat_strerror(1) name the same options" { same_options dat_strerror 7; }
@test "dat_trace --help and dat_trace(1) name the same options" { same_options dat_trace 10; }

@test "every tool prints its version, its help on stdout, and ends with 2 for an option that it does not have" {
    for tool in dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace; do
        [ "$("$TOP_BUILDDIR/$tool" --version)" = "$tool $("$TOP_BUILDDIR/dat_trace" --version | cut -d ' ' -f 2)" ]
        "$TOP_BUILDDIR/$tool" --help | grep -q '^Exit status: 0 '
        status=0
        "$TOP_BUILDDIR/$tool" --nosuch >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/errors" || status=$?
        [ "$status" = 2 ] || { echo "$tool ended with $status"; false; }
        [ ! -s "$BATS_TEST_TMPDIR/out" ]
        # A tool with commands may miss one of them first.
        grep -qE "^$tool: .*(--nosuch|is required).*--help" "$BATS_TEST_TMPDIR/errors" || { cat "$BATS_TEST_TMPDIR/errors"; false; }
    done
}

@test "the documents of every tool have a schema, installed with it, which says tool and version" {
    for tool in dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace; do
        schema=$TOP_SRCDIR/doc/schema/$tool.json
        jq -e --arg tool "$tool" '.properties.tool.const == $tool and .properties.version.const >= 1 and
            (.required | contains(["tool", "version"]))' "$schema" >/dev/null || { echo "$schema"; false; }
        grep -q "/$tool.json" "$TOP_SRCDIR/doc/schema/local.mk"
        "$TOP_BUILDDIR/$tool" --help | grep -qE '^ +(-j, ?)?--json' || "$TOP_BUILDDIR/$tool" list --help | grep -q -- --json
    done
}
