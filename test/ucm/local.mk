# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += test/ucm/ucm_test
TESTS += test/ucm/ucm_test
test_ucm_ucm_test_SOURCES = %reldir%/ucm_test.cpp %reldir%/pace_test.cpp %reldir%/scripted_peer.hpp test/support/connection_recorder.hpp $(without_libdat2) test/support/process.hpp
test_ucm_ucm_test_LDADD = libtestmain.la libucm.la libexchange.la libdaplcore.la libsoftverbs_core.la libsupport.la
