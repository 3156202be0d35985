#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks what the Debian packages are said to hold and to replace, without making them; deb.bats
# makes them.
load ../compat/helpers
load ../support/install

debian=$TOP_SRCDIR/etc/debian

# Runs once for all tests of this file: makes an installed tree with Debian's paths.
setup_file() {
    export root=$BATS_FILE_TMPDIR/root
    installing "$root" prefix=/usr libdir=/usr/lib/triplet \
        dat12prefix=/usr/lib/triplet/dat-1.2 \
        sysconfdir=/etc install >"$BATS_FILE_TMPDIR/install.log" 2>&1 || { tail -n 20 "$BATS_FILE_TMPDIR/install.log"; return 1; }
}

# usage: files_of LIST... - prints the files of the installed tree that the lists name.
files_of() {
    local pattern path
    cd "$root" || return
    sed 's|^debian/tmp/||' "$@" | while read -r pattern; do
        for path in $pattern; do
            [ -e "$path" ] || { echo "nothing: $pattern"; continue; }
            find "$path" -not -type d
        done
    done
}

# usage: field PACKAGE NAME - prints a field of its paragraph in etc/debian/control.
field() {
    awk -v package="$1" -v name="$2:" '/^Package: / { inside = $2 == package } inside && $1 == name { sub(/^[^ ]+ /, ""); print }' "$debian/control"
}

@test "every installed file is in exactly one package, or left out by name" {
    files_of "$debian"/*.install "$debian/not-installed" | sort >"$BATS_TEST_TMPDIR/listed"
    (cd "$root" && find . -not -type d) | sed 's|^\./||' | sort >"$BATS_TEST_TMPDIR/installed"
    diff "$BATS_TEST_TMPDIR/installed" "$BATS_TEST_TMPDIR/listed"
}

@test "the package of softverbs has the suppressions that its page names" {
    files_of "$debian/softverbs.install" >"$BATS_TEST_TMPDIR/softverbs"
    for file in "$TOP_SRCDIR"/etc/suppressions/*.supp; do
        grep -qxF "usr/share/opendat/suppressions/${file##*/}" "$BATS_TEST_TMPDIR/softverbs"
        grep -qF "@pkgdatadir@/suppressions/${file##*/}" "$TOP_SRCDIR/doc/man/softverbs.7.scd"
    done
}

@test "every package has its list of files, and every list its package" {
    diff <(sed -n 's/^Package: //p' "$debian/control" | sort) <(cd "$debian" && printf '%s\n' *.install | sed 's/\.install$//' | sort)
}

@test "the packages stand in the place of libdapl2, libdapl-dev and dapl2-utils: versioned Provides, Conflicts, Replaces" {
    for pair in libdat2-opendat:libdapl2 libdat2-opendat-dev:libdapl-dev opendat-utils:dapl2-utils; do
        ours=${pair%:*} replaced=${pair#*:}
        echo "$ours"
        # shellcheck disable=SC2016 # a variable of dpkg's
        [ "$(field "$ours" Provides)" = "$replaced"' (= ${reference:Version})' ]
        [ "$(field "$ours" Conflicts)" = "$replaced" ]
        [ "$(field "$ours" Replaces)" = "$replaced" ]
    done
    [ "$(grep -c '^Provides: ' "$debian/control")" -eq 3 ]
    grep -qE '^reference_version = 2\.1\.10\.1\.' "$debian/rules"
}

@test "Debian's dapl2-utils and the package of our libraries share no file" {
    need_program dpkg-query
    dpkg-query -L dapl2-utils >"$BATS_TEST_TMPDIR/theirs" 2>/dev/null || missing "dapl2-utils is not installed"
    files_of "$debian/libdat2-opendat.install" "$debian/softverbs.install" | sed 's|^|/|; p; s|$|.gz|' >"$BATS_TEST_TMPDIR/ours"
    never grep -xF -f "$BATS_TEST_TMPDIR/ours" "$BATS_TEST_TMPDIR/theirs"
}

@test "the symbols file names every node of symbols that our libraries have" {
    sed -n 's/^export .*@@//p' <(cat "$TOP_SRCDIR"/test/compat/golden/libda*) | sort -u >"$BATS_TEST_TMPDIR/nodes"
    diff "$BATS_TEST_TMPDIR/nodes" <(sed -nE 's/^ \(symver\)([^ ]+) .*/\1/p' "$debian/libdat2-opendat.symbols" | sort)
}

@test "the packages are built with what bootstrap installs" {
    built_with=$(sed -n '/^Build-Depends:/,/^$/p' "$debian/control" | sed -nE 's/^ ([a-z0-9-]+).*/\1/p' | grep -v debhelper-compat)
    # Without what every build of a package has, and what debhelper itself brings.
    bootstrap=$(sed -n "/^build_packages='/,/'$/p" "$TOP_SRCDIR/bootstrap" | sed "s/build_packages=//" | tr -d "'" | tr -s ' ' '\n' |
        grep -vxE 'autoconf|automake|libtool|make|gcc|g\+\+|')
    diff <(sort <<<"$built_with") <(sort <<<"$bootstrap")
}
