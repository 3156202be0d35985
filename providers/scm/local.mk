# SPDX-License-Identifier: BSD-2-Clause
# The connection manager over TCP sockets, which moves queue pairs itself.
noinst_LTLIBRARIES += libscm.la
libscm_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libscm_la_SOURCES = \
    %reldir%/message.cpp %reldir%/message.hpp
