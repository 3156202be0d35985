# SPDX-License-Identifier: BSD-2-Clause
# Tests that see internals: one program per part.
check_PROGRAMS += test/unit/support_test
TESTS += test/unit/support_test
test_unit_support_test_SOURCES = %reldir%/support_test.cpp test/support/process.hpp
test_unit_support_test_LDADD = libtestmain.la libsupport.la
