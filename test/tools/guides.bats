#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks the guides: what they name exists, what they show compiles, what was generated is up to
# date.
load ../compat/helpers

guides=$TOP_SRCDIR/doc/guides

@test "there is a guide for each kind of reader, and the README leads to it" {
    for guide in guides/from-libibverbs guides/from-dapl guides/porting-an-mpi guides/troubleshooting guides/tuning architecture; do
        [ -s "$TOP_SRCDIR/doc/$guide.md" ]
        grep -qF "](doc/$guide.md)" "$TOP_SRCDIR/README.md" || { echo "README.md does not name doc/$guide.md"; false; }
    done
}

# usage: anchors_of FILE - prints those of its headings, as the usual renderers make them.
anchors_of() {
    sed -nE '/^```/,/^```/d; s/^#+ +//p' "$1" | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

@test "each link of README, guides and documents leads to a file that is there, and to a heading in it" {
    count=0
    while IFS=$'\t' read -r page link; do
        target=${link%%#*}
        file=$TOP_SRCDIR/$page
        [ -z "$target" ] || file=$TOP_SRCDIR/$(dirname "$page")/$target
        [ -e "$file" ] || { echo "$page: $link"; false; }
        case $link in
            *'#'*) anchors_of "$file" | grep -qxF -- "${link#*#}" || { echo "$page: no heading for $link"; false; } ;;
        esac
        count=$((count + 1))
    done < <(cd "$TOP_SRCDIR" && find README.md CONTRIBUTING.md doc -name '*.md' -print0 | xargs -0 awk '
        /^```/ { code = !code }
        !code { line = $0
            while (match(line, /\]\([^)]+\)/)) {
                link = substr(line, RSTART + 2, RLENGTH - 3)
                if (link !~ /^[a-z]+:/) print FILENAME "\t" link
                line = substr(line, RSTART + RLENGTH)
            }
        }')
    [ "$count" -ge 60 ]
}

# Each piece is the body of a function, whose arguments are what the piece needs besides DAT's
# headers.
@test "each piece of C in the guides compiles without a warning" {
    count=0
    for guide in "$guides"/*.md; do
        awk -v base="$BATS_TEST_TMPDIR/$(basename "$guide" .md)" '/^```c$/ { out = base "." ++n ".part"; next } /^```/ { out = "" } out { print >out }' "$guide"
    done
    for part in "$BATS_TEST_TMPDIR"/*.part; do
        {
            cat <<'HEAD'
#include <arpa/inet.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>
#include <dat2/dat_reg_extensions.h>
int part(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EP_HANDLE ep, DAT_EP_HANDLE other_ep, DAT_EVD_HANDLE transfers,
         DAT_EVD_HANDLE connections, char* buffer, DAT_LMR_CONTEXT lmr_context, DAT_RMR_CONTEXT rmr_context, DAT_LMR_HANDLE lmr,
         DAT_IA_ADDRESS_PTR peer_address, DAT_UINT64 peer_qualifier, DAT_UINT32 rank, DAT_EVENT event, DAT_COUNT more);
int part(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EP_HANDLE ep, DAT_EP_HANDLE other_ep, DAT_EVD_HANDLE transfers,
         DAT_EVD_HANDLE connections, char* buffer, DAT_LMR_CONTEXT lmr_context, DAT_RMR_CONTEXT rmr_context, DAT_LMR_HANDLE lmr,
         DAT_IA_ADDRESS_PTR peer_address, DAT_UINT64 peer_qualifier, DAT_UINT32 rank, DAT_EVENT event, DAT_COUNT more) {
HEAD
            cat "$part"
            echo 'return 0; }'
        } >"$part.c"
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -I"$TOP_SRCDIR/dat/include" -fsyntax-only "$part.c" ||
            { echo "$part"; cat "$part"; false; }
        count=$((count + 1))
    done
    [ "$count" -ge 5 ]
}

# usage: words PATTERN - prints those of all guides, each once.
words() { cat "$guides"/*.md "$TOP_SRCDIR"/doc/examples/*.md | grep -oE "$1" | sort -u; }

@test "each constant, function, setting and tool that a guide names exists" {
    cat "$TOP_SRCDIR"/dat/include/dat2/*.h "$TOP_SRCDIR"/support/*/*.def "$TOP_SRCDIR"/tools/strerror/events.def \
        "$TOP_SRCDIR"/providers/soft/softverbs/*.h* "$TOP_SRCDIR/doc/man/softverbs.7.scd" "$TOP_SRCDIR/doc/registration.md" |
        grep -oE '[A-Za-z_][A-Za-z0-9_]+' | sort -u >"$BATS_TEST_TMPDIR/names"
    ls "$TOP_SRCDIR/doc/man" "$TOP_SRCDIR/doc/examples" | sed 's/\..*//' >>"$BATS_TEST_TMPDIR/names"
    unknown=$(words '\b(DAT|DAPL|OPENDAT|SOFTVERBS)_[A-Z0-9_]*[A-Z0-9]\b|\bdat_[a-z_]*[a-z]\b' | grep -vxF -f "$BATS_TEST_TMPDIR/names" || true)
    [ -z "$unknown" ] || { echo "unknown: $unknown"; false; }
}

@test "each option that a guide gives to a tool is in the tool's --help" {
    count=0
    while read -r tool option; do
        "$TOP_BUILDDIR/$tool" --help | grep -qE -- "(^|[ ,])$option([ ,]|$)" || { echo "$tool $option"; false; }
        count=$((count + 1))
    done < <(cat "$guides"/*.md | grep -oE '(dat_(conf|doctor|info|perf|ping|stat|strerror|trace)|softverbs) [^`|#;]*' |
        awk '{ for (i = 2; i <= NF; ++i) if ($i ~ /^--?[a-z]+$/) print $1, $i }' | sort -u)
    [ "$count" -ge 10 ]
}

@test "the messages of the guide by symptom are those of the catalogue, each under a heading" {
    need_program python3
    "$TOP_BUILDDIR/dat_strerror" --list --json >"$BATS_TEST_TMPDIR/catalogue.json"
    "$guides/messages" "$BATS_TEST_TMPDIR/catalogue.json" "$TOP_SRCDIR/test/tools/symptoms" "$guides/troubleshooting.md" |
        diff "$guides/troubleshooting.md" - ||
        { echo "make troubleshooting-document mends it"; false; }
}

@test "each demand of doc/layers.md names code and tests that exist, the tests in the lists of make check" {
    demands=0
    cd "$TOP_SRCDIR"
    while IFS='|' read -r _ demand code tests figure _; do
        for file in $(grep -oE '`[a-z_]+/[a-z_/.]+`' <<<"$code$tests" | tr -d '`'); do
            [ -e "$file" ] || { echo "$demand: no $file"; false; }
        done
        for test in $(grep -oE '`test/[a-z_/.]+`' <<<"$tests" | tr -d '`'); do
            grep -rqE "(%reldir%|${test%/*})/${test##*/}" --include=local.mk test || { echo "$demand: $test is in no list"; false; }
        done
        for row in $(grep -oE '\*[^*]+\*' <<<"$figure" | sed 's/^\*//; s/ *…*\*$//; s/ /_/g'); do
            grep -qF "\"${row//_/ }" test/bench/table || { echo "$demand: make bench has no row ${row//_/ }"; false; }
        done
        demands=$((demands + 1))
    done < <(grep -E '^\| \[' doc/layers.md)
    [ "$demands" -eq 7 ]
}

# usage: is_introduced FOLDER - it must have a README.md of its own, or be named in that of a folder
# above.
is_introduced() {
    local above=$1
    [ ! -f "$1/README.md" ] || return 0
    while [[ $above = */* ]]; do
        above=${above%/*}
        [ ! -f "$above/README.md" ] || ! grep -qF "\`${1#"$above/"}/\`" "$above/README.md" || return 0
    done
    echo "no README.md names $1/"
    return 1
}

@test "each folder of the code is introduced where its reader looks" {
    count=0
    cd "$TOP_SRCDIR"
    while read -r folder; do
        is_introduced "$folder"
        count=$((count + 1))
    done < <(cd "$TOP_SRCDIR" && find broker check dapl dat device providers support tools -name '*.[ch]*' -printf '%h\n' | sort -u)
    [ "$count" -ge 20 ]
}
