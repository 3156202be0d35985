# SPDX-License-Identifier: BSD-2-Clause
# Tests what is given away: the distribution, the changelog and Debian's packages. The quick tests
# are part of `make check`.
TESTS += %reldir%/distribution.bats %reldir%/lists.bats
EXTRA_DIST += %reldir%/distribution.bats %reldir%/lists.bats %reldir%/release.bats %reldir%/undistributed

# The tests that build everything anew are part of `make check-long`.
LONG_TESTS += %reldir%/deb.bats %reldir%/dist.bats
EXTRA_DIST += %reldir%/deb.bats %reldir%/dist.bats
# deb.bats keeps the system as debootstrap has made it, and the output of its commands.
CLEANFILES += %reldir%/minbase.tar %reldir%/deb.said %reldir%/debootstrap.said
