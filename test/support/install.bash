# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash

# usage: installing DIRECTORY MAKE_ARGUMENTS... - make in the tree under test, with this DESTDIR. Not a part of the make that runs the
# tests, which has its own idea of jobs and targets; and one at a time: libtool links what it installs once more, in the tree.
installing() {
    local directory=$1
    shift
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL flock "$TOP_BUILDDIR/config.status" make -s -C "$TOP_BUILDDIR" "DESTDIR=$directory" "$@"
}
