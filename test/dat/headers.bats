#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the installed headers as programs use them: one at a time, in strict C and in old and new
# C++.

setup() {
    headers=$TOP_SRCDIR/dat/include
    work=$BATS_TEST_TMPDIR
    strict='-Wall -Wextra -Werror -pedantic'
}

# $1: compiler and language; the program is on stdin.
compiles() {
    cat >"$work/source"
    # shellcheck disable=SC2086 # lists of words
    $1 $strict -I"$headers" -fsyntax-only "$work/source"
}

each_header_alone() {
    local count=0
    for header in "$headers"/dat2/*.h; do
        printf '#include <dat2/%s>\nextern int some_declaration;\n' "${header##*/}" | compiles "$1"
        count=$((count + 1))
    done
    [ "$count" -ge 12 ]
}

@test "each header compiles alone as strict C99" {
    each_header_alone "$CC -std=c99 -x c"
}

@test "each header compiles alone as strict C11" {
    each_header_alone "$CC -std=c11 -x c"
}

@test "each header compiles alone as C++98" {
    each_header_alone "$CXX -std=c++98 -Wno-long-long -x c++"
}

@test "each header compiles alone as C++20" {
    each_header_alone "$CXX -std=c++20 -x c++"
}

@test "each header can be included after every other" {
    for first in "$headers"/dat2/*.h; do
        { printf '#include <dat2/%s>\n' "${first##*/}"
          cd "$headers" && printf '#include <%s>\n' dat2/*.h; } | compiles "$CC -std=c99 -x c"
    done
}

@test "each header has its namesake on the path <dat/...>, which brings it alone, in C and in C++" {
    for header in "$headers"/dat2/*.h; do
        name=${header##*/}
        guard=$(sed -n 's/^#define \(_[A-Z_]*_H_\)$/\1/p' "$header")
        for compiler in "$CC -std=c99 -x c" "$CXX -std=c++20 -x c++"; do
            printf '#include <dat/%s>\n#ifndef %s\n#error brings another header\n#endif\nextern int some_declaration;\n' "$name" "$guard" |
                compiles "$compiler"
        done
    done
    [ "$(cd "$headers/dat" && echo *.h)" = "$(cd "$headers/dat2" && echo *.h)" ]
}

# $1: compiler; $2: what precedes the calls; $3, $4: values of the privileges. Compiles the calls of
# the proposal of 2005, and the privilege to read.
proposals_calls() {
    cat <<END | compiles "$1"
$2
DAT_RETURN post(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *here, DAT_RMR_TRIPLET *there, DAT_DTO_COOKIE cookie);
DAT_RETURN post(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *here, DAT_RMR_TRIPLET *there, DAT_DTO_COOKIE cookie) {
    DAT_RETURN code = dat_ep_post_write_immed(ep, 1, here, cookie, there, 7, DAT_EXT_WRITE_IMMED_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
    code |= dat_ep_post_rdma_write_immed(ep, 1, here, cookie, there, 7, DAT_EXT_WRITE_IMMED_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
    code |= dat_ep_post_recv_immed(ep, 1, here, cookie, DAT_COMPLETION_DEFAULT_FLAG);
    code |= dat_ep_post_fetch_and_add(ep, 1, here, cookie, there, DAT_COMPLETION_DEFAULT_FLAG);
    return code | dat_ep_post_cmp_and_swap(ep, 1, 2, here, cookie, there, DAT_COMPLETION_DEFAULT_FLAG);
}
int event[DAT_EXTENSION_EVENT == 0x40000 ? 1 : -1];
int privilege[DAT_MEM_PRIV_REMOTE_READ_FLAG == $3 && DAT_MEM_PRIV_ALL_FLAG == $4 ? 1 : -1];
END
}

@test "<dat/udat.h> alone has the calls of the proposal of 2005, and its privileges where DAT_EXT_PRIVILEGES is defined" {
    for directory in "$headers" "$headers/dat-1.2"; do
        for compiler in "$CC -std=c99 -x c" "$CXX -std=c++98 -Wno-long-long -x c++" "$CXX -std=c++20 -x c++"; do
            proposals_calls "$compiler -I$directory" '#include <dat/udat.h>' 0x02 0x33
            proposals_calls "$compiler -I$directory -DDAT_EXT_PRIVILEGES" '#include <dat/udat.h>' 0x82 0xb3
            proposals_calls "$compiler -I$directory" '#include <dat/udat.h>
#include <dat/dat_extensions.h>' 0x82 0xb3
            proposals_calls "$compiler -I$directory" '#include <dat2/dat_extensions.h>
#include <dat/udat.h>' 0x82 0xb3
        done
    done
}

# $1: language of abi.awk; $2: compiler.
each_header_brings_its_rows() {
    local header rows=0
    for header in $($AWK -F '\t' 'NR > 1 && !seen[$8]++ { print $8 }' "$TOP_SRCDIR/test/dat/abi.tsv"); do
        $AWK -v language="$1" -v header="$header" -f "$TOP_SRCDIR/test/dat/abi.awk" \
            "$TOP_SRCDIR/test/dat/abi.tsv" >"$work/abi"
        # shellcheck disable=SC2086 # a list of words
        $2 -I"$headers" -fsyntax-only "$work/abi"
        rows=$((rows + 1))
    done
    [ "$rows" -eq 9 ]
}

@test "each header alone brings every name that the ABI table gives it, in C" {
    each_header_brings_its_rows c "$CC -std=c11 -x c"
}

@test "each header alone brings every name that the ABI table gives it, in C++" {
    each_header_brings_its_rows cxx "$CXX -std=c++20 -x c++"
}

@test "a wrong size, offset, value, type or arity in the ABI table fails to compile" {
    table=$TOP_SRCDIR/test/dat/abi.tsv
    wrong=0
    for change in 's/^(struct\tdat_event\t\t\t)120/\1128/' 's/^(member\tdat_event\tevent_data\t)16/\124/' \
        's/^(define\tDAT_NAME_MAX_LENGTH.*)256/\1255/' 's/^(enumerator\tdat_event_number.*)65537/\165538/' \
        's/^(prototype\tdat_ep_free\t.*)EP_HANDLE\)/\1COUNT)/' 's/^(macro_fn\tDAT_EP_FREE\t.*)1/\12/' \
        's/^(define_str\tDAT_IB_ATTR_UD\t.*)DAT_IB_UD/\1DAT_UD/' 's/^(typedef\tDAT_COUNT\t.*)int/\1long/'; do
        sed -E "$change" "$table" >"$work/table"
        [ "$(diff "$table" "$work/table" | grep -c '^>')" -eq 1 ]
        $AWK -v language=c -f "$TOP_SRCDIR/test/dat/abi.awk" "$work/table" >"$work/abi"
        # shellcheck disable=SC2086 # a list of words
        if $CC -I"$headers" -x c -fsyntax-only "$work/abi" 2>"$work/errors"; then
            echo "not noticed: $change"
            return 1
        fi
        wrong=$((wrong + 1))
    done
    [ "$wrong" -eq 8 ]
}

@test "a row of an unknown kind in the ABI table fails the build" {
    printf 'kind\tname\nriddle\tdat_riddle\n' >"$work/table"
    run $AWK -v language=c -f "$TOP_SRCDIR/test/dat/abi.awk" "$work/table"
    [ "$status" -ne 0 ]
    [[ $output == *'unknown kind: riddle dat_riddle'* ]]
}

@test "each function of the headers documents each argument and its codes" {
    run $AWK '
        /^\/\*\*/ { comment = "" }
        /^ \*|^\/\*\*/ { comment = comment $0 "\n"; next }
        /^DAT_RETURN DAT_API dat_/ { declaration = ""; gathering = 1 }
        gathering { declaration = declaration $0 }
        gathering && /;$/ {
            gathering = 0
            functions++
            name = declaration
            sub(/^DAT_RETURN DAT_API /, "", name)
            arguments = name
            sub(/\(.*/, "", name)
            sub(/^[^(]*\(/, "", arguments)
            sub(/\);$/, "", arguments)
            count = split(arguments, argument, ",")
            for (i = 1; i <= count; i++) {
                gsub(/[()\[\]]/, "", argument[i])
                sub(/.*[ *]/, "", argument[i])
                if (comment !~ "@param " argument[i] " .") print name ": " argument[i]
            }
            if (comment !~ /@return DAT_SUCCESS/) print name ": no codes"
            comment = ""
        }
        END { print functions " functions" }' "$TOP_SRCDIR"/dat/include/dat2/*.h
    echo "$output"
    [ "$output" = '84 functions' ]
}
