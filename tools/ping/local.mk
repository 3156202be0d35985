# SPDX-License-Identifier: BSD-2-Clause
# dat_ping uses only installed headers and libdat2. All but main() is in a library of its own, which
# the unit test links too.
noinst_LTLIBRARIES += libping.la
libping_la_SOURCES = \
    %reldir%/adapter.cpp %reldir%/adapter.hpp \
    %reldir%/client.cpp %reldir%/client.hpp \
    %reldir%/message.cpp %reldir%/message.hpp \
    %reldir%/server.cpp %reldir%/server.hpp \
    %reldir%/statistics.cpp %reldir%/statistics.hpp

bin_PROGRAMS += dat_ping
dat_ping_SOURCES = %reldir%/main.cpp
dat_ping_LDADD = libping.la libtools.la libdat2.la
