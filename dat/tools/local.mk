# SPDX-License-Identifier: BSD-2-Clause
# What the command-line tools share: command lines, how they tell of failures, their clock, the socket by which two
# ends meet.
noinst_LTLIBRARIES += libtools.la
libtools_la_SOURCES = \
    %reldir%/clock.hpp \
    %reldir%/command_line.cpp %reldir%/command_line.hpp \
    %reldir%/failure.cpp %reldir%/failure.hpp \
    %reldir%/socket.cpp %reldir%/socket.hpp

include dat/tools/perf/local.mk
include dat/tools/trace/local.mk
