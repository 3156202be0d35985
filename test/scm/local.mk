# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += test/scm/scm_test
TESTS += test/scm/scm_test
test_scm_scm_test_SOURCES = $(without_libdat2) %reldir%/scm_active_test.cpp test/support/connection_recorder.hpp test/support/process.hpp
test_scm_scm_test_LDADD = libtestmain.la libscm.la libsockets.la libexchange.la libdaplcore.la libsoftverbs_core.la libsupport.la
# Tests the core with the connection manager over sockets, on softverbs, all in one program.
check_PROGRAMS += test/scm/scm_hostile_test
TESTS += test/scm/scm_hostile_test
test_scm_scm_hostile_test_SOURCES = %reldir%/scm_hostile_test.cpp test/support/process.hpp
test_scm_scm_hostile_test_LDADD = libtestmain.la libscm.la libsockets.la libexchange.la libdaplcore.la libsoftverbs_core.la libsupport.la
