# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash

# ${own_make[@]} runs make in the tree under test. It is not part of the make that runs the tests,
# which has its own idea of jobs and targets.
own_make=(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$TOP_BUILDDIR")

# usage: installing DIRECTORY MAKE_ARGUMENTS... - makes them with this DESTDIR. Only one at a time,
# because libtool links what it installs once more, in the tree.
installing() {
    local directory=$1
    shift
    flock "$TOP_BUILDDIR/config.status" "${own_make[@]}" "DESTDIR=$directory" "$@"
}
