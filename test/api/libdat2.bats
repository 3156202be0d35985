#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests libdat2 as a linker and an installed system see it.

load ../support/install

setup() {
    library=$TOP_BUILDDIR/.libs/libdat2.so.2
    work=$BATS_TEST_TMPDIR
}

dynamic() {
    readelf -dW "$library" | sed -n "s/.*($1).*\[\(.*\)\]/\1/p"
}

# NM may be several words, so it is not quoted.
@test "libdat2 exports exactly the known names, each under its version node" {
    $NM -D --defined-only --with-symbol-versions "$library" |
        awk '$2 != "A" { print $3 }' | LC_ALL=C sort >"$work/exported"
    diff -u "$TOP_SRCDIR/test/api/libdat2.symbols" "$work/exported"
    [ "$($NM -D --defined-only "$library" | awk '$2 == "A" { print $3 }' | sort | paste -sd ' ')" = \
        'DAT_2.0 OPENDAT_1.0 OPENDAT_EXTENSIONS_1.0 OPENDAT_TRCLVL_1.0' ]
}

@test "the soname of libdat2 is libdat2.so.2" {
    [ "$(dynamic SONAME)" = libdat2.so.2 ]
}

@test "libdat2 needs nothing but the C and C++ run-time libraries" {
    for needed in $(dynamic NEEDED); do
        case $needed in
            libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | ld-linux* | libstdc++.so.* | libgcc_s.so.*) ;;
            lib[alut]*san.so.* | libclang_rt.*) ;; # in a sanitizer build
            *)
                echo "needs $needed"
                return 1
                ;;
        esac
    done
    [ -n "$(dynamic NEEDED)" ]
}

@test "libdat2 has no symbol that would keep it loaded" {
    [ "$(readelf -sW "$library" | grep -c ' UNIQUE ')" -eq 0 ]
    ! readelf -dW "$library" | grep -q NODELETE
}

# Installs the parts of the tree that a program is built against, as make install does.
install_tree() {
    installing "$work/root" \
        install-dat2includeHEADERS install-pkgconfigDATA >/dev/null
    libdir=$(sed -n 's/^libdir *= *//p' "$TOP_BUILDDIR/Makefile")
    prefix=$(sed -n 's/^prefix *= *//p' "$TOP_BUILDDIR/Makefile")
    libdir=${libdir//'${exec_prefix}'/$prefix}
    root=$work/root
    mkdir -p "$root$libdir"
    cp -P "$TOP_BUILDDIR"/.libs/libdat2.so* "$root$libdir"
    installing "$root" install-exec-hook
}

@test "programs link with -ldat2 and with -ldat, as pkg-config says" {
    [[ $($NM -D "$library") != *__asan_init* && $($NM -D "$library") != *__tsan_init* ]] ||
        skip 'a sanitizer build links its run time into programs only'
    install_tree
    export PKG_CONFIG_PATH=$root$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
    for name in dat2 dat; do
        [ "$(pkg-config --libs-only-l "$name" | tr -d ' ')" = "-l$name" ]
        # shellcheck disable=SC2046 # lists of words
        $CC -Wall -Werror $(pkg-config --cflags "$name") "$TOP_SRCDIR/test/api/every_function_test.c" \
            -o "$work/linked_with_$name" $(pkg-config --libs "$name")
        [[ $(readelf -dW "$work/linked_with_$name") == *'[libdat2.so.2]'* ]]
        run env LD_LIBRARY_PATH="$root$libdir" "$work/linked_with_$name"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *'ok 3 - '* && $output != *'not ok'* ]]
    done
}

# The IA of the tests' fake provider reports that it has no extensions, as those of iWARP devices
# do.
@test "of an IA without extensions the provider is asked for OpenDAT's own operations, and for no others" {
    [ -e "$TOP_BUILDDIR/test/compat/registry/.libs/fake_provider.so" ]
    echo "ia u2.0 nonthreadsafe default $TOP_BUILDDIR/test/compat/registry/.libs/fake_provider.so dapl.2.0 \"\" \"\"" >"$work/dat.conf"
    cat >"$work/operations.c" <<'CODE'
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>
#include <dat2/dat_reg_extensions.h>
#include <stdio.h>
int main(void) {
    const int operations[] = {DAT_OPENDAT_MEMORY_ALLOC_OP, DAT_OPENDAT_TRACE_LEVEL_QUERY_OP, DAT_REG_QUERY_OP, DAT_IB_QUERY_COUNTERS_OP,
                              DAT_IB_FETCH_AND_ADD_OP, DAT_IB_UD_SEND_OP, 0x4f450001};
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    if (dat_ia_open("ia", 8, &async, &ia)) return 1;
    for (unsigned i = 0; i < sizeof operations / sizeof *operations; ++i)
        printf("%d %#x\n", operations[i], dat_extension_op(ia, operations[i]));
    return 0;
}
CODE
    $CC -Wall -I"$TOP_SRCDIR/dat/include" "$work/operations.c" -o "$work/operations" -L"$TOP_BUILDDIR/.libs" -ldat2
    DAT_OVERRIDE=$work/dat.conf LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs "$work/operations" >"$work/answers"
    [ "$(awk '{ print $2 }' "$work/answers" | tr '\n' ' ')" = '0 0 0 0 0xbfff0000 0xbfff0000 0xbfff0000 ' ] || { cat "$work/answers"; false; }
}
