#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks what a release is made from: the changelog, and doc/releasing.md.

load ../support/install

setup() {
    cd "$TOP_SRCDIR" || return
    version=$(sed -n 's/^VERSION *= *//p' "$TOP_BUILDDIR/Makefile")
    date=$(sed -n 's/^RELEASE_DATE *= *//p' "$TOP_BUILDDIR/Makefile")
    commands=$(sed -n 's/^ \{4,\}//p' doc/releasing.md)
}

@test "the newest entry of the changelog has the version and the date that the manual pages have, and points" {
    newest=$(grep -m 1 '^## ' CHANGELOG.md)
    echo "$newest"
    [ "$newest" = "## $version ($date)" ]
    [ "$(sed -n '/^## /,$p' CHANGELOG.md | grep -c '^- ')" -ge 5 ]
}

@test "Debian's changelog is made from the changelog, entry by entry and point by point" {
    sh etc/debian/make-changelog CHANGELOG.md >"$BATS_TEST_TMPDIR/changelog"
    [[ $(head -n 1 "$BATS_TEST_TMPDIR/changelog") == "opendat ($version-1) "* ]]
    [ "$(grep -c '^opendat (' "$BATS_TEST_TMPDIR/changelog")" -eq "$(grep -c '^## ' CHANGELOG.md)" ]
    [ "$(grep -c '^  \* ' "$BATS_TEST_TMPDIR/changelog")" -eq "$(grep -c '^- ' CHANGELOG.md)" ]
    words_of() { sed '1,/^## /d; /^## /d' "$1" | tr -d '*`' | tr -s ' \n' '\n\n' | grep -vx -e - -e ''; }
    diff <(words_of CHANGELOG.md) <(grep -v -e '^opendat (' -e '^ -- ' "$BATS_TEST_TMPDIR/changelog" | tr -d '*' | tr -s ' \n' '\n\n' | grep .)
    command -v dpkg-parsechangelog >/dev/null || skip "the rest: dpkg-parsechangelog is not installed"
    dpkg-parsechangelog -l "$BATS_TEST_TMPDIR/changelog" 2>"$BATS_TEST_TMPDIR/complaints"
    cat "$BATS_TEST_TMPDIR/complaints"
    [ ! -s "$BATS_TEST_TMPDIR/complaints" ]
}

@test "every make target, script and test that the release checklist names exists" {
    # shellcheck disable=SC2016 # a make variable
    printf 'include Makefile\nnames:; @echo $(TESTS) $(LONG_TESTS) $(check_PROGRAMS)\n' >"$BATS_TEST_TMPDIR/names.mk"
    tests=$("${own_make[@]}" -f "$BATS_TEST_TMPDIR/names.mk" names)
    count=0
    while read -r line; do
        for word in ${line//\'/ }; do
            case $line:$word in
                *:./*) [ -x "${word#./}" ] ;;
                *:test/* | *:*=test/*) [[ " $tests " == *" ${word#*=} "* ]] ;;
                make*:[a-z]*) [[ $word == make || $word == build || $word == *=* ]] || grep -q "^$word:" "$TOP_BUILDDIR/Makefile" ;;
            esac || { echo "$line: there is no $word"; return 1; }
        done
        count=$((count + 1))
    done <<<"$commands"
    [ "$count" -ge 15 ]
}

@test "the release checklist names every check and every measured document that make has" {
    for target in $(grep -oE '^(check|distcheck|deb|[a-z]+-document)(-[a-z]+)?:' "$TOP_BUILDDIR/Makefile" | tr -d : | sort -u); do
        case $target in
            check-am | check-local | check-TESTS) ;; # automake's own parts
            check-address | check-thread) ;;         # check-sanitizers is both
            interoperation-document) ;;              # a part of compatibility-document
            *) grep -qE "(make|bootstrap).* $target( |$)" <<<"$commands" || { echo "$target"; return 1; } ;;
        esac
    done
}
