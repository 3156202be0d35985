# SPDX-License-Identifier: BSD-2-Clause
# Connections over connected TCP sockets: the exchange of messages after which a manager moves queue
# pairs through their states itself.
noinst_LTLIBRARIES += libsockets.la
libsockets_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libsockets_la_SOURCES = \
    %reldir%/active.cpp %reldir%/active.hpp \
    %reldir%/arrival.cpp %reldir%/arrival.hpp \
    %reldir%/bad_peer.cpp %reldir%/bad_peer.hpp \
    %reldir%/connection.cpp %reldir%/connection.hpp \
    %reldir%/converted.cpp \
    %reldir%/host.cpp %reldir%/host.hpp \
    %reldir%/link.cpp %reldir%/link.hpp \
    %reldir%/message.cpp %reldir%/message.hpp \
    %reldir%/passive.cpp %reldir%/passive.hpp
