#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests make install, out of tree, with DESTDIR: what is installed, and that it works from there.
load helpers
load ../support/install

# Runs once for all tests of this file.
setup_file() {
    export root=$BATS_FILE_TMPDIR/root
    installing "$root" install \
        >"$BATS_FILE_TMPDIR/install.log" 2>&1 || { tail -n 20 "$BATS_FILE_TMPDIR/install.log"; return 1; }
}

setup() {
    local name
    prefix=$(sed -n 's/^prefix *= *//p' "$TOP_BUILDDIR/Makefile")
    exec_prefix=$prefix
    for name in libdir includedir sysconfdir bindir; do
        # shellcheck disable=SC2016 # a make variable
        printf -v "$name" %s "$(sed -n "s/^$name *= *//p" "$TOP_BUILDDIR/Makefile" |
            sed "s|\${exec_prefix}|$exec_prefix|; s|\${prefix}|$prefix|")"
    done
    # shellcheck disable=SC2154
    tree=(-I"$root$includedir" -L"$root$libdir")
}
teardown() { stop_all; }

all_there() {
    local path status=0
    for path in "$@"; do
        [ -e "$root$path" ] || { echo "not installed: $path"; status=1; }
    done
    return $status
}

@test "make install puts libraries, headers, programs, pages and dat.conf in place" {
    # shellcheck disable=SC2154 # set by setup
    all_there "$libdir"/libdat2.so.2 "$libdir"/libdaplofa.so.2 "$libdir"/libdaploscm.so.2 "$libdir"/libdaploucm.so.2 "$libdir"/libdaplsoft.so.2 "$libdir"/libsoftverbs.so \
        "$libdir"/opendat/libopendat-yaml.so \
        "$libdir"/pkgconfig/dat2.pc "$libdir"/pkgconfig/dat.pc "$libdir"/pkgconfig/dat-1.2.pc "$bindir"/dtest "$bindir"/dtest_ext "$bindir"/dtestx "$bindir"/softverbs "$bindir"/dat_conf "$bindir"/dat_doctor "$bindir"/dat_info "$bindir"/dat_perf "$bindir"/dat_trace "$sysconfdir"/dat.conf
    # shellcheck disable=SC2154
    for header in "$TOP_SRCDIR"/dat/include/dat2/*.h; do
        cmp "$header" "$root$includedir/dat2/${header##*/}"
        [ -s "$root$includedir/dat/${header##*/}" ]
    done
    for header in dat2/dat.hpp dat/dat.hpp $(cd "$TOP_SRCDIR/dat/include" && echo dat2/dat/*.hpp); do
        cmp "$TOP_SRCDIR/dat/include/$header" "$root$includedir/$header"
    done
    for header in "$TOP_SRCDIR"/dat/include/dat-1.2/dat/*.h; do
        cmp "$header" "$root$includedir/dat-1.2/dat/${header##*/}"
    done
    if [ -e "$TOP_BUILDDIR/doc/man/dtest.1" ]; then
        [ -n "$(find "$root" -path '*/man5/dat.conf.5')" ]
        [ -n "$(find "$root" -path '*/man5/opendat.yaml.5')" ]
        [ -n "$(find "$root" -path '*/man1/dat_conf.1')" ]
        [ -n "$(find "$root" -path '*/man1/dtest.1')" ]
        [ -n "$(find "$root" -path '*/man1/dtest_ext.1')" ]
        [ -n "$(find "$root" -path '*/man1/dtestx.1')" ]
        [ -n "$(find "$root" -path '*/man1/softverbs.1')" ]
        [ -n "$(find "$root" -path '*/man7/softverbs.7')" ]
    fi
}

@test "make install puts every page, the schemas of the tools' documents, and the completion of bash, zsh and fish in place" {
    for page in "$TOP_BUILDDIR"/doc/man/*.[1-9] "$TOP_BUILDDIR"/doc/man/man3/*.3; do
        [ -e "$page" ] || continue # without scdoc or perl there are none
        [ -n "$(find "$root" -name "${page##*/}")" ] || { echo "${page##*/}"; false; }
    done
    for schema in "$TOP_SRCDIR"/doc/schema/*.json; do
        [ -n "$(find "$root$prefix/share" -path "*/opendat/schema/${schema##*/}")" ] || { echo "$schema"; false; }
    done
    for file in "$TOP_SRCDIR"/etc/suppressions/*.supp; do
        page=$(find "$root$prefix/share/man" -name softverbs.7) # without scdoc there is none
        [ -z "$page" ] || sed 's/[\\]&//g' "$page" | grep -qF "=$prefix/share/opendat/suppressions/${file##*/} "
        [ -f "$root$prefix/share/opendat/suppressions/${file##*/}" ]
    done
    completions=$root$prefix/share/bash-completion/completions
    for tool in $(sed -n 's/^complete -F _opendat //p' "$TOP_SRCDIR/etc/completion/opendat.bash"); do
        # shellcheck disable=SC2154 # set by setup
        [ -x "$root$bindir/$tool" ] && grep -q "^complete .*$tool" "$completions/$tool" || { echo "$tool"; false; }
        grep -q "^for tool in .*$tool.*" "$root$prefix/share/fish/vendor_completions.d/$tool.fish"
        grep -q "^#compdef .*$tool" "$root$prefix/share/zsh/site-functions/_opendat"
    done
    never grep -rn '@completionsdir@' "$root$prefix/share/fish" "$root$prefix/share/zsh"
}

# usage: loader_cache DIRECTORIES CACHED... - runs the step of make install with an ldconfig that
# looks in these directories, may change nothing, and has these in its cache.
loader_cache() {
    printf '#!/bin/sh\ncase $* in -p) echo "%s" ;; *-N*) printf "%%s: (from x)\\n" %s ;; *) exit 1 ;; esac\n' "${*:2}" "$1" >"$BATS_TEST_TMPDIR/ldconfig"
    chmod +x "$BATS_TEST_TMPDIR/ldconfig"
    run env LDCONFIG="$BATS_TEST_TMPDIR/ldconfig" sh "$TOP_SRCDIR/etc/loader-cache" /usr/local/lib
    [ "$status" = 0 ]
}

@test "make install makes the loader's cache, or tells the one command that is left" {
    grep -q "etc/loader-cache' '\$(libdir)'" "$TOP_SRCDIR/dat/api/local.mk"
    loader_cache '/usr/local/lib /lib' 'libdat2.so.2 (libc6,x86-64) => /usr/local/lib/libdat2.so.2'
    [ -z "$output" ]
    loader_cache '/usr/local/lib /lib'
    [[ $output == *": ldconfig" ]]
    loader_cache '/lib'
    [[ $output == *"echo /usr/local/lib >/etc/ld.so.conf.d/opendat.conf && ldconfig"*"export LD_LIBRARY_PATH=/usr/local/lib" ]]
}

@test "make install-strip installs libraries and programs without symbols for debuggers, and they work" {
    need_program readelf
    stripped=$BATS_TEST_TMPDIR/stripped
    installing "$stripped" install-strip >"$BATS_TEST_TMPDIR/log" 2>&1 ||
        { tail -n 20 "$BATS_TEST_TMPDIR/log"; false; }
    for file in "$stripped$libdir"/*.so.?.*.* "$stripped$libdir"/opendat/*.so "$stripped$bindir"/*; do
        readelf -SW "$file" | grep -qE '\.(debug_info|symtab) ' && { echo "$file is not stripped"; false; }
        [ "$(stat -c %s "$file")" -lt 8000000 ] || { echo "$file is large"; false; }
    done
    # What dat_trace and probes look for is not stripped.
    readelf -SW "$stripped$libdir/libdat2.so.2" | grep -q ' opendat_trace '
    run env LD_LIBRARY_PATH="$stripped$libdir" DAT_OVERRIDE="$stripped$sysconfdir/dat.conf" SOFTVERBS_FABRIC="$BATS_TEST_TMPDIR" "$stripped$bindir/dat_info"
    [[ $output == *soft0* ]] || { echo "$output"; false; }
}

@test "make install makes the links that linker and programs look for" {
    for library in libdat2 libdaplofa libdaploscm libdaploucm libdaplsoft; do
        file=$root$libdir/$library.so.2
        [ -L "$file" ]
        [[ $(readlink "$file") == "$library".so.2.* ]]
        readelf -dW "$file" | grep -q "SONAME.*\[$library\.so\.2\]"
    done
    for name in libdat2.so libdat.so; do
        [ "$(readlink -f "$root$libdir/$name")" = "$(readlink -f "$root$libdir/libdat2.so.2")" ]
    done
}

@test "nothing installed looks for libraries in the build directory or DESTDIR" {
    find "$root" -type f \( -name '*.so*' -o -path '*/bin/*' \) | while read -r file; do
        path=$(readelf -dW "$file" | sed -n 's/.*(\(RPATH\|RUNPATH\)).*\[\(.*\)\]/\2/p')
        [[ $path != *"$TOP_BUILDDIR"* && $path != *"$root"* ]] || { echo "$file: $path"; exit 1; }
    done
    ! grep -rF -e "$root" -e "$TOP_BUILDDIR" "$root$libdir/pkgconfig" "$root$sysconfdir"
}

@test "an installed tree works from its own place: dtest over soft0 with the installed dat.conf" {
    start_network
    mkdir "$BATS_TEST_TMPDIR/work"
    run_to_end demo env -u LD_LIBRARY_PATH "TMPDIR=$BATS_TEST_TMPDIR/work" "DAT_OVERRIDE=$root$sysconfdir/dat.conf" \
        sh "$TOP_SRCDIR/test/dtest/demo" "$root$prefix" -b 1000 -B 20
    grep -q '^demo: PASSED: ' "$BATS_TEST_TMPDIR/demo.out"
    is_silent demo
}

@test "an installed tree works from its own place: its libraries find the module that reads opendat.yaml" {
    printf 'ias:\n  - {ia_name: mine, lib_path: %s/libdaplsoft.so.2, ia_params: soft0 0}\n' "$root$libdir" >"$BATS_TEST_TMPDIR/opendat.yaml"
    mkdir -m 700 "$BATS_TEST_TMPDIR/own_fabric"
    env -u DAT_OVERRIDE "LD_LIBRARY_PATH=$root$libdir" "OPENDAT_CONFIG=$BATS_TEST_TMPDIR/opendat.yaml" \
        "SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/own_fabric" timeout "$deadline_seconds" "$TOP_BUILDDIR/test/compat/.libs/open_ia" mine \
        >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
    grep -q '^ia_open: 0x00000000' "$BATS_TEST_TMPDIR/out" || { cat "$BATS_TEST_TMPDIR/err"; return 1; }
    [ ! -s "$BATS_TEST_TMPDIR/err" ] || { cat "$BATS_TEST_TMPDIR/err"; return 1; }
}

@test "an installed tree works from its own place: softverbs run finds the library beside it" {
    need_program ibv_devices
    start_network
    run_to_end devices "$root$bindir/softverbs" run ibv_devices
    has devices '^ +soft0[[:space:]]+[0-9a-f]{16}$'
    run_to_end preloaded "$root$bindir/softverbs" run sh -c 'echo "$LD_PRELOAD"'
    prints preloaded <<<"$root$libdir/libsoftverbs.so"
    is_silent devices preloaded
}

@test "an installed tree works from its own place: ofa-v2-lo too" {
    start_network
    use=(env "LD_LIBRARY_PATH=$root$libdir" "DAT_OVERRIDE=$root$sysconfdir/dat.conf" "$root$bindir/dtest")
    start server "${use[@]}" -P ofa-v2-lo -b 1000 -B 20
    run_to_end client "${use[@]}" -h 127.0.0.1 -b 1000 -B 20
    await_end server
    has client 'DAPL Test Complete\. PASSED'
}

@test "a second make install keeps the dat.conf that the administrator changed" {
    echo '# ours' >>"$root$sysconfdir/dat.conf"
    installing "$root" install-data >/dev/null 2>&1
    [ "$(tail -n 1 "$root$sysconfdir/dat.conf")" = '# ours' ]
}

# usage: flags_of PACKAGE - puts its flags into the list `flags`, with the paths of a tree that is
# not in its final place.
flags_of() {
    read -ra flags <<<"$(PKG_CONFIG_LIBDIR=$root$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
        PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs "$1")"
}

# usage: builds_and_runs "COMPILER OPTIONS" ARGUMENT... - compiles a program against the installed
# tree, runs it there and expects it to print `works`.
builds_and_runs() {
    local compiler=$1
    shift
    # shellcheck disable=SC2086 # a list of words
    $compiler -Wall -Wextra -Werror "$@" -o "$BATS_TEST_TMPDIR/program"
    mkdir -pm 700 "$BATS_TEST_TMPDIR/fabric"
    [ "$(env "LD_LIBRARY_PATH=$root$libdir" "DAT_OVERRIDE=$root$sysconfdir/dat.conf" "SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric" \
        timeout "$deadline_seconds" "$BATS_TEST_TMPDIR/program" 2>&1)" = works ]
}

@test "a program that includes <dat/udat.h> compiles as with <dat2/udat.h>, in C and in C++, and runs, linked with -ldat and with -ldat2" {
    program=$TOP_SRCDIR/test/compat/header_path.c
    for library in -ldat -ldat2; do
        for header in dat/udat.h dat2/udat.h; do
            builds_and_runs "$CC -std=c99" -pedantic "-DUDAT=<$header>" "$program" "${tree[@]}" "$library"
        done
    done
    builds_and_runs "$CXX -std=c++11" '-DUDAT=<dat/udat.h>' -x c++ "$program" -x none "${tree[@]}" -ldat
}

@test "a program may include each header by <dat/...> and by <dat2/...>, in C and in C++" {
    program=$TOP_SRCDIR/test/compat/header_path.c
    builds_and_runs "$CC -std=c99" -DBOTH "$program" "${tree[@]}" -ldat2
    builds_and_runs "$CXX -std=c++20" -DBOTH -x c++ "$program" -x none "${tree[@]}" -ldat2
    for header in "$TOP_SRCDIR"/dat/include/dat2/*.h; do
        printf '#include <dat/%s>\n#include <dat2/%s>\n#include <dat/%s>\n' "${header##*/}" "${header##*/}" "${header##*/}"
    done >"$BATS_TEST_TMPDIR/all.c"
    $CC -std=c99 -Wall -Wextra -Werror -I"$root$includedir" -fsyntax-only "$BATS_TEST_TMPDIR/all.c"
}

@test "pkg-config dat and dat2 give what links a program with the installed tree" {
    need_program pkg-config
    for package in dat dat2; do
        flags_of "$package"
        builds_and_runs "$CC" "-DUDAT=<$package/udat.h>" "$TOP_SRCDIR/test/compat/header_path.c" "${flags[@]}"
    done
}

@test "pkg-config dat-1.2 gives what builds a program of DAT 1.2 with the installed tree, and it runs" {
    need_program pkg-config
    flags_of dat-1.2
    $CC -std=gnu99 -Wall -Wextra -Werror -iquote "$TOP_SRCDIR" "$TOP_SRCDIR/test/api/dat_1_2_test.c" "${flags[@]}" -o "$BATS_TEST_TMPDIR/program"
    env "LD_LIBRARY_PATH=$root$libdir" "DAT_OVERRIDE=$root$sysconfdir/dat.conf" timeout "$deadline_seconds" "$BATS_TEST_TMPDIR/program" >"$BATS_TEST_TMPDIR/out"
    grep -q '^ok 1 ' "$BATS_TEST_TMPDIR/out" && grep -q '^1\.\.' "$BATS_TEST_TMPDIR/out"
    [ "$(grep -c '^not ok\|^#' "$BATS_TEST_TMPDIR/out")" = 0 ] || { cat "$BATS_TEST_TMPDIR/out"; false; }
}

@test "PREFIX/dat-1.2 can be given as the prefix of uDAPL: its include and lib build a program of DAT 1.2, which runs" {
    own=$root$prefix/dat-1.2
    for header in "$TOP_SRCDIR"/dat/include/dat-1.2/dat/*.h; do cmp "$header" "$own/include/dat/${header##*/}"; done
    for header in "$TOP_SRCDIR"/dat/include/dat/*.h; do [ -e "$own/include/dat/${header##*/}" ]; done
    cmp "$TOP_SRCDIR/dat/include/dat2/udat.h" "$own/include/dat2/udat.h"
    # As configure scripts do for --with-udapl=PREFIX.
    $CC -std=gnu99 -Wall -Wextra -Werror "-I$own/include" -iquote "$TOP_SRCDIR" "$TOP_SRCDIR/test/api/dat_1_2_test.c" \
        "-L$own/lib" -ldat "-Wl,-rpath,$own/lib" -o "$BATS_TEST_TMPDIR/program"
    env "LD_LIBRARY_PATH=$root$libdir" "DAT_OVERRIDE=$root$sysconfdir/dat.conf" timeout "$deadline_seconds" "$BATS_TEST_TMPDIR/program" >"$BATS_TEST_TMPDIR/out"
    grep -q '^ok 1 ' "$BATS_TEST_TMPDIR/out" && ! grep -q '^not ok\|^#' "$BATS_TEST_TMPDIR/out" || { cat "$BATS_TEST_TMPDIR/out"; false; }
}

@test "PREFIX/dat-1.2 goes with make uninstall, but for what others have put there" {
    elsewhere=$BATS_TEST_TMPDIR/elsewhere
    for others in '' yes; do
        installing "$elsewhere" install-dat-1.2-prefix
        [ -z "$others" ] || : >"$elsewhere$prefix/dat-1.2/lib/other"
        installing "$elsewhere" uninstall-dat-1.2-prefix
        [ "$(find "$elsewhere$prefix" -path '*/dat-1.2*' -not -type d)" = "${others:+$elsewhere$prefix/dat-1.2/lib/other}" ]
    done
    rm "$elsewhere$prefix/dat-1.2/lib/other"
}
