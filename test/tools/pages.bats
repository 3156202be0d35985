#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks the manual pages, as built: each is without faults, each tool's page has the options of its
# --help, every page of ours that a page refers to exists, and each call has a page, made from the
# headers.
load ../compat/helpers

pages=$TOP_BUILDDIR/doc/man
calls=$pages/man3

setup() {
    need_program mandoc jq
    [ -e "$pages/opendat.7" ] || missing "scdoc was not installed when the manual pages were built"
}

text_of() { mandoc -T ascii "$1" | sed 's/.\x08//g'; }

# usage: options_of < TEXT - prints the options that begin a line, one per line.
options_of() {
    sed -nE 's/^ +(-[A-Za-z0-9](,|$)|--[a-z])/\1/p' | sed -E 's/  .*//' | tr ' ,' '\n\n' | sed 's/=.*//' |
        grep -E '^--?[a-zA-Z0-9-]+$' | sort -u
}

# usage: commands_of TOOL - prints those that its --help names.
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

# usage: faults_of PAGE... - prints what mandoc finds. mandoc looks for the pages that a page names
# only among those of the system; another test checks that ours exist.
faults_of() {
    mandoc -T lint "$@" 2>"$BATS_TEST_TMPDIR/mandoc.err" | grep -v 'STYLE: referenced manual not found' || true
    grep -v 'outdated mandoc.db' "$BATS_TEST_TMPDIR/mandoc.err" || true
}

@test "mandoc -T lint has nothing to say of any page" {
    for section in 1 3 5 7 8; do
        if [ "$section" = 3 ]; then set -- "$calls"/*.3; else set -- "$pages"/*."$section"; fi
        [ -e "$1" ] || continue # section 3 needs perl
        findings=$(faults_of "$@")
        [ -z "$findings" ] || { echo "$findings"; false; }
    done
    for source in "$TOP_SRCDIR"/doc/man/*.scd; do [ -s "$pages/$(basename "$source" .scd)" ] || { echo "$source"; false; }; done
}

@test "no page has a word that a line breaks in two, or a placeholder that the build has left" {
    need_program groff
    # The calls' pages need perl.
    "$TOP_SRCDIR/test/tools/broken-words" "$pages"/*.[1578] $(find "$calls" -name '*.3')
}

@test "a word that is broken, a placeholder and a typographic hyphen are found" {
    need_program groff
    page=$BATS_TEST_TMPDIR/page.7
    printf '.TH page 7\n.SH NAME\npage \\- a page\n.SH DESCRIPTION\n@left@ and a minus \\[mi]\n' >"$page"
    for i in {1..40}; do echo "a-word-with-hyphens-$i"; done >>"$page"
    status=0
    "$TOP_SRCDIR/test/tools/broken-words" "$page" >"$BATS_TEST_TMPDIR/found" || status=$?
    [ "$status" = 1 ]
    for fault in 'groff: only with short lines: ' 'groff: a placeholder: @left@' 'mandoc: a placeholder: @left@' 'groff: cannot be typed: '; do
        grep -qF "page.7 by $fault" "$BATS_TEST_TMPDIR/found" || { echo "not found: $fault"; cat "$BATS_TEST_TMPDIR/found"; false; }
    done
}

@test "every manual page that a page of ours refers to as ours is there" {
    for page in "$pages"/*.[1-9]; do
        text_of "$page" | grep -oE '\b(dat_[a-z]+\([178]\)|dtest[a-z_]*\(1\)|softverbs(-explore|-fault)?\([157]\)|opendat[a-z_.]*\([57]\)|dat\.conf\(5\))' | sort -u
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

@test "softverbs explore --help and softverbs-explore(1) name the same options" {
    "$TOP_BUILDDIR/softverbs" explore --help | options_of >"$BATS_TEST_TMPDIR/help"
    # The heading of a paragraph may name several, with their arguments.
    text_of "$pages/softverbs-explore.1" | sed -nE '/^OPTIONS/,/^EXIT STATUS/p' | sed -nE 's/^ {5,7}(-.*)/\1/p' |
        tr ' ,' '\n\n' | sed -n 's/=.*//; /^-/p' | sort -u >"$BATS_TEST_TMPDIR/page"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -ge 18 ]
    diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/page"
}

@test "every tool prints its version, its help on stdout, and ends with 2 for an option that it does not have" {
    for tool in dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace; do
        [ "$("$TOP_BUILDDIR/$tool" --version)" = "$tool $("$TOP_BUILDDIR/dat_trace" --version | cut -d ' ' -f 2)" ]
        "$TOP_BUILDDIR/$tool" --help | grep -q '^Exit status: 0 '
        status=0
        "$TOP_BUILDDIR/$tool" --nosuch >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/errors" || status=$?
        [ "$status" = 2 ] || { echo "$tool ended with $status"; false; }
        [ ! -s "$BATS_TEST_TMPDIR/out" ]
        # A tool with commands may report a missing command first.
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

@test "opendat_settings(7) has every setting with its default and is without faults" {
    [ -s "$pages/opendat_settings.7" ] || missing "perl was not installed when the manual pages were built"
    findings=$(faults_of "$pages/opendat_settings.7")
    [ -z "$findings" ] || { echo "$findings"; false; }
    "$TOP_BUILDDIR/dat_info" --settings | sed -nE 's/^([A-Z_]+) = .*/\1/p' | sort >"$BATS_TEST_TMPDIR/settings"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/settings")" -ge 50 ]
    sed -n 's/^\.It Ev //p' "$pages/opendat_settings.7" | sort | diff "$BATS_TEST_TMPDIR/settings" -
    awk '/^\.It Ev / { name = $3; next } /^\./ { name = "" } name { text[name] = text[name] " " $0 }
        END { for (name in text) print name text[name] }' "$pages/opendat_settings.7" | sed 's/\\-/-/g' >"$BATS_TEST_TMPDIR/text"
    "$TOP_BUILDDIR/dat_info" --settings | awk '/^[A-Z]/ { name = $1 } $1 == "default" { sub(/;.*/, ""); print name, $2 }' |
        while read -r name default; do
        text=$(grep "^$name " "$BATS_TEST_TMPDIR/text")
        [ "$default" != '(none)' ] || default='Not set by default'
        [[ ${text,,} = *"${default,,}"[.\;]* ]] || { echo "$name: $default: $text"; false; }
    done
}

# -- a page for each call --------------------------------------------------------------------------

need_call_pages() { [ -e "$pages/calls.stamp" ] || missing "perl was not installed when the manual pages were built"; }

# usage: call_pages - prints the names of the pages, one per line.
call_pages() { (cd "$calls" && printf '%s\n' dat_*.3) | sed 's/\.3$//' | LC_ALL=C sort; }

# usage: same_names WANTED IS - compares files with one name per line.
same_names() { diff "$1" "$2" || { echo "< has no page, > is no call"; false; }; }

# Copies what the pages are made of and adds a faulty header, $1.
sources_with() {
    work=$BATS_TEST_TMPDIR/sources
    mkdir -p "$work/dat/include/dat2" "$work/doc" "$BATS_TEST_TMPDIR/out"
    cp "$TOP_SRCDIR"/dat/include/dat2/*.h "$work/dat/include/dat2"
    cp "$TOP_SRCDIR/doc/thread-safety.md" "$work/doc"
    chmod -R u+w "$work"
    printf '%s\n' "$1" >"$work/dat/include/dat2/dat_added.h"
}

# usage: is_refused HEADER WHY - the script must make no pages of a source with this header, and say
# why.
is_refused() {
    sources_with "$1"
    run perl "$TOP_SRCDIR/doc/man/calls" write "$work" "$BATS_TEST_TMPDIR/out" 2026-11-23
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == "calls: "*"$2" ]]
}

# usage: header COMMENT DECLARATION
header() { printf '/**\n * @file\n * @source Nowhere.\n */\n\n/**\n%s\n */\n%s' "$1" "$2"; }

@test "every function that libdat2 exports has a page of section 3" {
    need_call_pages
    need_program nm
    # dats_get_ia_handle is an interface between libdat2 and its providers, and no header declares
    # it.
    nm -D --defined-only "$TOP_BUILDDIR/.libs/libdat2.so.2" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' |
        grep -vx dats_get_ia_handle | LC_ALL=C sort >"$BATS_TEST_TMPDIR/exported"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/exported")" -ge 84 ]
    call_pages | LC_ALL=C comm -23 "$BATS_TEST_TMPDIR/exported" - >"$BATS_TEST_TMPDIR/without"
    cat "$BATS_TEST_TMPDIR/without"
    [ ! -s "$BATS_TEST_TMPDIR/without" ]
}

@test "every function, inline function and macro of the headers has a page of section 3, and there are no others" {
    need_call_pages
    cat "$TOP_SRCDIR"/dat/include/dat2/*.h |
        grep -oE '^(#define |(extern |static __inline__ )?(DAT_RETURN( DAT_API)?|const [A-Z_]+) \*?)dat_[a-z0-9_]+' |
        grep -oE '[a-z0-9_]+$' | LC_ALL=C sort -u >"$BATS_TEST_TMPDIR/declared"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/declared")" -ge 145 ]
    call_pages >"$BATS_TEST_TMPDIR/pages"
    same_names "$BATS_TEST_TMPDIR/declared" "$BATS_TEST_TMPDIR/pages"
    perl "$TOP_SRCDIR/doc/man/calls" list "$TOP_SRCDIR" | sed 's/\.3$//' >"$BATS_TEST_TMPDIR/listed"
    diff "$BATS_TEST_TMPDIR/listed" "$BATS_TEST_TMPDIR/pages"
}

@test "every call's page says what it does, its arguments, what it returns, what threads may do, and where it comes from" {
    need_call_pages
    for section in NAME SYNOPSIS DESCRIPTION 'RETURN VALUES' 'THREAD SAFETY' 'SEE ALSO' STANDARDS; do
        without=$(grep -L "^\.Sh $section\$" "$calls"/*.3 || true)
        [ -z "$without" ] || { echo "no $section: $without"; false; }
    done
    # Only other names of a call, and calls without arguments, have none.
    without=$(grep -L '^\.Sh ARGUMENTS$' "$calls"/*.3 | xargs grep -LE '^\.(Fd #define|Fn dat_reg_policy void)' || true)
    [ -z "$without" ] || { echo "no ARGUMENTS: $without"; false; }
    # Codes have their numbers.
    grep -q '^\.It Dv DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP Pq 0x8005000C$' "$calls/dat_ep_free.3"
    grep -q '^\.It Dv DAT_QUEUE_EMPTY Pq 0x000D0000 , No raw$' "$calls/dat_cno_wait.3"
}

@test "every code that test/api/conformance wants of a call stands on the call's page" {
    need_call_pages
    # What an extension's operation returns is on the page of its macro. A row "keeps" is what the
    # free of the other object returns.
    CONFORMANCE_SCRATCH=$BATS_TEST_TMPDIR "$TOP_BUILDDIR/test/api/conformance/conformance" list |
        awk -F '\t' '$2 ~ /^0x[0-9A-F]+$/ && $1 !~ /^dat_extension_op\/|\/keeps-/ { sub(/\/.*/, "", $1); print $1, $2 }' |
        sort -u >"$BATS_TEST_TMPDIR/wanted"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/wanted")" -ge 200 ]
    while read -r call code; do
        grep -q "^\.It .* Pq $code" "$calls/$call.3" && continue
        # This line stands for the codes of all states of an EP.
        [[ $code = 0x800700* ]] && grep -q '^\.It Dv DAT_INVALID_STATE | DAT_INVALID_STATE_EP_\*$' "$calls/$call.3" && continue
        echo "$call: $code"
        return 1
    done <"$BATS_TEST_TMPDIR/wanted"
}

@test "every page that a call's page refers to is there, or is one of the system" {
    need_call_pages
    cat "$calls"/*.3 | sed -nE 's/.*\.?\bXr (\( )?([^ ]+) ([1-9]).*/\2.\3/p' | sort -u | while read -r name; do
        case $name in
            poll.2 | malloc.3) ;;
            *.3) [ -e "$calls/$name" ] || { echo "$name is not there"; false; } ;;
            *) [ -e "$pages/$name" ] || { echo "$name is not there"; false; } ;;
        esac
    done
}

@test "every page of section 3 that another page refers to is there" {
    need_call_pages
    for page in "$pages"/*.[1-9]; do text_of "$page" | grep -oE '\bdat_[a-z0-9_]+\(3\)' || true; done |
        sort -u | sed 's/(3)//' | while read -r name; do [ -e "$calls/$name.3" ] || { echo "$name is not there"; false; }; done
}

@test "audits compare with the codes that the pages name (make page-codes)" {
    need_call_pages
    diff <(perl "$TOP_SRCDIR/doc/man/calls" codes "$TOP_SRCDIR") <(grep '^PAGE(' "$TOP_SRCDIR/check/dat/page_codes.def")
}

@test "the pages of calls are the same wherever and whenever they are made" {
    need_call_pages
    mkdir "$BATS_TEST_TMPDIR/again"
    date=$(sed -n 's/^RELEASE_DATE = //p' "$TOP_BUILDDIR/Makefile")
    (cd "$TOP_SRCDIR" && TZ=Pacific/Kiritimati LC_ALL=C doc/man/calls write . "$BATS_TEST_TMPDIR/again" "$date")
    diff -r "$calls" "$BATS_TEST_TMPDIR/again"
}

@test "no pages are made where a call has no comment" {
    is_refused "$(printf '/**\n * @file\n * @source Nowhere.\n */\nDAT_RETURN DAT_API dat_added(DAT_COUNT number);')" \
        'dat_added.h: dat_added: no comment'
}

@test "no pages are made where an argument is not described, or one is that the call has not" {
    is_refused "$(header ' * Adds.
 *
 * @return DAT_SUCCESS' 'DAT_RETURN DAT_API dat_ep_added(DAT_COUNT number);')" 'dat_ep_added: argument number is not described'
    is_refused "$(header ' * Adds.
 *
 * @param number How many.
 * @param text What.
 * @return DAT_SUCCESS' '#define dat_ep_added(number) dat_ep_post((DAT_COUNT)(number))')" 'dat_ep_added: it has no argument text'
}

@test "no pages are made where what a call returns is not told, or a code has no explanation" {
    is_refused "$(header ' * Adds.' 'DAT_RETURN DAT_API dat_ep_added(void);')" 'dat_ep_added: no @return'
    is_refused "$(header ' * Adds.
 *
 * @return DAT_INVALID_HANDLE' 'DAT_RETURN DAT_API dat_ep_added(void);')" 'dat_ep_added: DAT_INVALID_HANDLE: not described'
}

@test "no pages are made where a comment names a constant that no header has, or doc/thread-safety.md lacks the call" {
    is_refused "$(header ' * Adds, as DAT_EVD_DTO_FLAGGE says.
 *
 * @return DAT_SUCCESS' 'DAT_RETURN DAT_API dat_ep_added(void);')" 'dat_ep_added: no header has DAT_EVD_DTO_FLAGGE'
    is_refused "$(header ' * Adds.
 *
 * @return DAT_SUCCESS' 'DAT_RETURN DAT_API dat_added(void);')" 'dat_added: not in "Call by call" of doc/thread-safety.md'
}
