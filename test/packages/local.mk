# SPDX-License-Identifier: BSD-2-Clause
# What is given away: the distribution, the changelog and Debian's packages. What is quick to find out is part of `make check`.
TESTS += %reldir%/distribution.bats %reldir%/lists.bats
EXTRA_DIST += %reldir%/distribution.bats %reldir%/lists.bats %reldir%/release.bats %reldir%/undistributed

# What builds everything anew is part of `make check-long`.
LONG_TESTS += %reldir%/deb.bats %reldir%/dist.bats
EXTRA_DIST += %reldir%/deb.bats %reldir%/dist.bats
# What deb.bats keeps: the system as debootstrap has made it, and what was said meanwhile.
CLEANFILES += %reldir%/minbase.tar %reldir%/deb.said %reldir%/debootstrap.said
