# SPDX-License-Identifier: BSD-2-Clause
verbs_test_libs = libtestmain.la libsoftverbs_core.la libsupport.la
check_PROGRAMS += %reldir%/verbs_transfer_test
TESTS += %reldir%/verbs_transfer_test
test_api_verbs_transfer_test_SOURCES = %reldir%/verbs_transfer_test.cpp %reldir%/verbs_pair.hpp
test_api_verbs_transfer_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
test_api_verbs_transfer_test_LDADD = $(verbs_test_libs)
