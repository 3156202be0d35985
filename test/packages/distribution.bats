#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks what `make dist` includes, without making it; dist.bats makes it.

load ../support/install

setup() {
    cd "$TOP_SRCDIR" || return
    [ -z "$(git rev-parse --show-prefix 2>/dev/null || echo none)" ] || skip "this is no checkout of git, or git is not installed"
    git ls-files | sort >"$BATS_TEST_TMPDIR/tracked"
    # shellcheck disable=SC2016 # make variables
    printf 'include Makefile\nlist:; @printf "%%s\\n" $(DISTFILES)\n' >"$BATS_TEST_TMPDIR/list.mk"
    "${own_make[@]}" -f "$BATS_TEST_TMPDIR/list.mk" list |
        sed -e "s|^$TOP_SRCDIR/||" -e 's|^\(\.\./\)*||' >"$BATS_TEST_TMPDIR/named"
    while read -r path; do
        if [ -d "$path" ]; then find "$path" -type f; else echo "$path"; fi
    done <"$BATS_TEST_TMPDIR/named" | sort -u >"$BATS_TEST_TMPDIR/distributed"
}

@test "every file that git tracks is in the distribution, or on the list of those that are not" {
    sed '/^#/d; s/\t.*//' test/packages/undistributed | sort >"$BATS_TEST_TMPDIR/left_out"
    diff <(comm -23 "$BATS_TEST_TMPDIR/tracked" "$BATS_TEST_TMPDIR/distributed") "$BATS_TEST_TMPDIR/left_out"
}

@test "every file of the distribution is tracked by git, or made by autoreconf" {
    made='^(Makefile\.in|aclocal\.m4|config\.h\.in|configure|build-aux/[^/]+|m4/l[^/]+\.m4)$'
    [ -z "$(comm -13 "$BATS_TEST_TMPDIR/tracked" "$BATS_TEST_TMPDIR/distributed" | grep -vE "$made" | tee /dev/stderr)" ]
}
