# SPDX-License-Identifier: BSD-2-Clause
# dtest_ext, also installed as dtestx, uses only installed headers and libdat2. It shares dtest's
# record, memory and patterns.
bin_PROGRAMS += dtest_ext
dtest_ext_SOURCES = \
    %reldir%/atomics.cpp \
    %reldir%/attributes.cpp %reldir%/attributes.hpp \
    %reldir%/check.cpp %reldir%/check.hpp \
    %reldir%/connection.cpp %reldir%/connection.hpp \
    %reldir%/counters.cpp \
    %reldir%/datagram_endpoint.cpp %reldir%/datagram_endpoint.hpp \
    %reldir%/datagrams.cpp \
    %reldir%/delayed_ack.cpp \
    %reldir%/device.cpp %reldir%/device.hpp \
    %reldir%/events.cpp \
    %reldir%/immediate.cpp %reldir%/immediate.hpp \
    %reldir%/main.cpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/other_side.cpp %reldir%/other_side.hpp \
    %reldir%/proposal.cpp \
    %reldir%/shared_receive.cpp
dtest_ext_LDADD = libdtest.la libtools.la libdat2.la

install-exec-local: install-dtestx
install-dtestx:
	$(MKDIR_P) $(DESTDIR)$(bindir) && cd $(DESTDIR)$(bindir) && rm -f dtestx && $(LN_S) dtest_ext dtestx
uninstall-local: uninstall-dtestx
uninstall-dtestx:
	rm -f $(DESTDIR)$(bindir)/dtestx
.PHONY: install-dtestx uninstall-dtestx

# Stands between dtest_ext and its libdat2 and changes events, to see whether dtest_ext notices.
# -rpath makes libtool build a shared library.
check_LTLIBRARIES += test/dtest_ext/changed_events.la
test_dtest_ext_changed_events_la_SOURCES = %reldir%/changed_events.c
test_dtest_ext_changed_events_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nonexistent

TESTS += %reldir%/dtest_ext.bats
EXTRA_DIST += %reldir%/dtest_ext.bats
