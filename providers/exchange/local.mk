# SPDX-License-Identifier: BSD-2-Clause
# What the managers have in common that exchange the addresses of queue pairs and move them through
# their states themselves.
noinst_LTLIBRARIES += libexchange.la
libexchange_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libexchange_la_SOURCES = \
    %reldir%/message.cpp %reldir%/message.hpp \
    %reldir%/path.cpp %reldir%/path.hpp \
    %reldir%/side.cpp %reldir%/side.hpp \
    %reldir%/timed_queue.cpp %reldir%/timed_queue.hpp
