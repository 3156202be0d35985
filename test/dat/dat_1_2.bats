#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the headers of DAT 1.2 as programs use them, and what dat-1.2(7) says cannot be served.

setup() {
    headers=$TOP_SRCDIR/dat/include
    work=$BATS_TEST_TMPDIR
    flags="-Wall -Wextra -Werror -I$headers/dat-1.2 -I$headers -fsyntax-only"
}

# usage: compiles "COMPILER OPTIONS" - compiles the program on stdin; the compiler's messages go to
# $work/errors.
compiles() {
    cat >"$work/source"
    # shellcheck disable=SC2086 # lists of words
    $1 $flags "$work/source" 2>"$work/errors"
}

# usage: is_refused PATTERN - the C program on stdin must not compile, for that reason.
is_refused() {
    if compiles "$CC -x c"; then
        echo "it compiles"
        return 1
    fi
    grep -qE "$1" "$work/errors" || { cat "$work/errors"; return 1; }
}

for_programs() {
    (cd "$headers/dat-1.2" && echo dat/*.h) | tr ' ' '\n' | grep -v redirection
}

@test "each header of DAT 1.2 brings the interface alone, in strict C and in C++ old and new" {
    for header in $(for_programs); do
        for compiler in "$CC -std=c99 -pedantic -x c" "$CC -std=gnu89 -x c" "$CXX -std=c++98 -x c++" "$CXX -std=c++20 -x c++"; do
            printf '#include <%s>\nDAT_RMR_TRIPLET some;\nDAT_VADDR *address = &some.target_address;\n' "$header" |
                compiles "$compiler" || { cat "$work/errors"; false; }
        done
    done
    [ "$(for_programs | wc -l)" -eq 8 ]
}

@test "headers of DAT 2.0 may stand before and after that of DAT 1.2" {
    {
        (cd "$headers" && printf '#include <%s>\n' dat2/*.h)
        printf '#include <dat/udat.h>\n'
        (cd "$headers" && printf '#include <%s>\n' dat2/*.h)
        printf 'DAT_RETURN (*reject)(DAT_CR_HANDLE) = dat_cr_reject;\n'
    } | compiles "$CC -std=c99 -x c" || { cat "$work/errors"; false; }
}

@test "calls, members, codes and fields of DAT 1.0, 1.1 and 1.2 have their names" {
    compiles "$CC -std=c99 -x c" <<'END' || { cat "$work/errors"; false; }
#include <dat/udat.h>
DAT_RETURN (*lmr_create)(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN, DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS,
                         DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *) = dat_lmr_create;
DAT_RETURN (*rmr_bind)(DAT_RMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS, DAT_EP_HANDLE, DAT_RMR_COOKIE,
                       DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *) = dat_rmr_bind;
DAT_RETURN (*cr_reject)(DAT_CR_HANDLE) = dat_cr_reject;
DAT_RETURN (*cno_query)(DAT_CNO_HANDLE, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM *) = dat_cno_query;
int sizes[] = {
    sizeof(((DAT_RMR_TRIPLET *)0)->target_address), sizeof(((DAT_CNO_PARAM *)0)->agent),
    sizeof(((DAT_IA_ATTR *)0)->max_mtu_size), sizeof(((DAT_IA_ATTR *)0)->max_rdma_read_per_ep),
    sizeof(((DAT_EP_ATTR *)0)->max_mtu_size), sizeof(DAT_RMR_BIND_COMPLETION_STATUS)};
int numbers[] = {
    DAT_NAME_NOT_FOUND, DAT_EP_STATE_ERROR, DAT_DTO_LENGTH_ERROR, DAT_DTO_FAILURE, DAT_RMR_BIND_SUCCESS, DAT_RMR_BIND_FAILURE,
    DAT_MEM_PRIV_READ_FLAG, DAT_MEM_PRIV_WRITE_FLAG, DAT_CLOSE_DEFAULT, DAT_CNO_FIELD_AGENT, DAT_PZ_SAME, DAT_HW_DEFAULT};
DAT_IA_ATTR_MASK fields = DAT_IA_ALL | DAT_IA_FIELD_IA_MAX_MTU_SIZE | DAT_IA_FIELD_IA_MAX_DTO_PER_OP |
                          DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR | DAT_IA_FIELD_IA_VENDOR_ATTR;
END
}

@test "not served: the pad member of the triplets of DAT 1.2 is refused by its name" {
    for type in DAT_LMR_TRIPLET DAT_RMR_TRIPLET; do
        is_refused "no member named .pad" <<<"#include <dat/udat.h>
void clear($type *triplet) { triplet->pad = 0; }"
    done
}

@test "not served: triplets filled by the order of their members in DAT 1.2 are refused" {
    is_refused 'excess elements' <<'END'
#include <dat/udat.h>
DAT_RMR_TRIPLET there = {1, 0, 2, 3};
END
}

@test "not served: the names of Solaris are refused" {
    for name in DAT_MEM_TYPE_SO_VIRTUAL DAT_MEM_PRIV_RO_DISABLE_FLAG DAT_INVALID_RO_COOKIE; do
        is_refused "$name.*undeclared" <<<"#include <dat/udat.h>
int value(void) { return $name; }"
    done
}

@test "not served: the interface of a provider of DAT 1.2 is refused with the name of the page" {
    for header in dat_redirection udat_redirection; do
        is_refused 'see dat-1\.2\(7\)' <<<"#include <dat/$header.h>"
    done
}

@test "dat-1.2(7) names everything that the tests find not to be served" {
    page=$TOP_SRCDIR/doc/man/dat-1.2.7.scd
    for name in pad DAT_MEM_TYPE_SO_VIRTUAL DAT_MEM_PRIV_RO_DISABLE_FLAG DAT_INVALID_RO_COOKIE dat_redirection.h DAT_VLEN libdat.so.1; do
        grep -qF "$(sed 's/_/\\_/g' <<<"$name")" "$page" || grep -qF "$name" "$page" || { echo "$name"; false; }
    done
}
