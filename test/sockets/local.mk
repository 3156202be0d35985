# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += test/sockets/sockets_test
TESTS += test/sockets/sockets_test
test_sockets_sockets_test_SOURCES = %reldir%/message_test.cpp %reldir%/converted_test.cpp $(without_libdat2) \
    test/support/connection_recorder.hpp test/support/process.hpp test/support/stream.hpp
test_sockets_sockets_test_LDADD = libtestmain.la libscm.la libsockets.la libexchange.la libdaplcore.la libsoftverbs_core.la libsupport.la
