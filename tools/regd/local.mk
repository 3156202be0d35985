# SPDX-License-Identifier: BSD-2-Clause
# dat_regd shares registrations among users. All but main() is in a library of its own, which the
# unit test links too.
noinst_LTLIBRARIES += libregd.la
libregd_la_SOURCES = \
    %reldir%/arbiter.cpp %reldir%/arbiter.hpp \
    %reldir%/devices.cpp %reldir%/devices.hpp \
    %reldir%/leader.cpp %reldir%/leader.hpp \
    %reldir%/server.cpp %reldir%/server.hpp \
    %reldir%/status.cpp %reldir%/status.hpp

bin_PROGRAMS += dat_regd
dat_regd_SOURCES = %reldir%/main.cpp
libregd_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libregd_la_LIBADD = $(IBVERBS_LIBS)

dat_regd_LDADD = libregd.la libregistrations.la libtools.la libsupport.la
