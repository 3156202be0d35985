# SPDX-License-Identifier: BSD-2-Clause
# The program in the README is the first thing that a newcomer copies, so it must run as it stands.

load ../support/time

setup() {
    work=$(mktemp -d)
    export SOFTVERBS_FABRIC=$work/fabric LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs DAT_OVERRIDE=$work/dat.conf
    mkdir -m 700 "$SOFTVERBS_FABRIC"
    echo "soft0 u2.0 nonthreadsafe default $TOP_BUILDDIR/.libs/libdaplsoft.so.2 dapl.2.0 \"soft0 0\" \"\"" >"$DAT_OVERRIDE"
}

teardown() {
    rm -rf "$work"
}

@test "the program in the README compiles without a warning and its RDMA write arrives" {
    awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$TOP_SRCDIR/README.md" >"$work/hello.c"
    ${CC:-cc} -Wall -Wextra -Werror -I"$TOP_SRCDIR/dat/include" "$work/hello.c" -o "$work/hello" -L"$TOP_BUILDDIR/.libs" -ldat2
    run timeout "$(scaled 60)" "$work/hello"
    echo "$output"
    [ "$status" = 0 ]
    [ "$output" = "hello through RDMA" ]
}
