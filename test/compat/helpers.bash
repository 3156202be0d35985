# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For tests that run programs which are not ours: each test has its own fabric directory and, where the system permits, its own
# network name space, so that the programs' fixed ports are free; else the tests take turns under one lock.

softverbs=$TOP_BUILDDIR/.libs/libsoftverbs.so

# usage: missing REASON - a peer is not installed. `./bootstrap check` installs them all and leaves build/.peers-required: a
# test that it cannot run is then a failure.
missing() {
    [ -e "$TOP_BUILDDIR/.peers-required" ] || skip "$1"
    echo "$1, though the test packages have been installed"
    return 1
}

need_program() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || missing "$program is not installed"
    done
}

need_library() {
    local library
    for library in "$@"; do
        ldconfig -p | grep -q "^[[:space:]]*$library " || missing "$library is not installed"
    done
}
