# SPDX-License-Identifier: BSD-2-Clause
# dtest uses only installed headers and libdat2. All but main() is in a library, which the unit test
# links too.
noinst_LTLIBRARIES += libdtest.la
libdtest_la_SOURCES = \
    %reldir%/checked_tests.cpp %reldir%/checked_tests.hpp \
    %reldir%/endpoint.cpp %reldir%/endpoint.hpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/pattern.cpp %reldir%/pattern.hpp \
    %reldir%/record.cpp %reldir%/record.hpp \
    %reldir%/region.cpp %reldir%/region.hpp \
    %reldir%/reference_tests.cpp %reldir%/reference_tests.hpp \
    %reldir%/session.cpp %reldir%/session.hpp \
    %reldir%/side_channel.cpp %reldir%/side_channel.hpp \
    %reldir%/table.cpp %reldir%/table.hpp \
    %reldir%/transfer.cpp


bin_PROGRAMS += dtest
dtest_SOURCES = %reldir%/main.cpp
dtest_LDADD = libdtest.la libtools.la libdat2.la

check_PROGRAMS += test/dtest/dtest_test
TESTS += test/dtest/dtest_test
test_dtest_dtest_test_SOURCES = %reldir%/dtest_test.cpp
test_dtest_dtest_test_LDADD = libtestmain.la libdtest.la libtools.la libdat2.la

TESTS += %reldir%/dtest.bats %reldir%/man.bats
EXTRA_DIST += %reldir%/demo %reldir%/dtest.bats %reldir%/man.bats
