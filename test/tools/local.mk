# SPDX-License-Identifier: BSD-2-Clause
# The command-line tools of dat/tools.
check_PROGRAMS += test/tools/perf_test
TESTS += test/tools/perf_test
test_tools_perf_test_SOURCES = %reldir%/perf_test.cpp
test_tools_perf_test_LDADD = libtestmain.la libperf.la libtools.la libdat2.la

TESTS += %reldir%/dat_perf.bats
EXTRA_DIST += %reldir%/dat_perf.bats
