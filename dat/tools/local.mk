# SPDX-License-Identifier: BSD-2-Clause
# What the command-line tools share: command lines (getopt_table for those whose options the reference has fixed), JSON,
# colours, how they tell of failures, their clock, the socket by which two ends meet.
noinst_LTLIBRARIES += libtools.la
libtools_la_SOURCES = \
    %reldir%/clock.hpp \
    %reldir%/getopt_table.cpp %reldir%/getopt_table.hpp \
    %reldir%/failure.cpp %reldir%/failure.hpp \
    %reldir%/json.cpp %reldir%/json.hpp \
    %reldir%/libraries.cpp %reldir%/libraries.hpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/terminal.cpp %reldir%/terminal.hpp \
    %reldir%/socket.cpp %reldir%/socket.hpp

include dat/tools/conf/local.mk
include dat/tools/info/local.mk
include dat/tools/doctor/local.mk
include dat/tools/perf/local.mk
include dat/tools/ping/local.mk
include dat/tools/regd/local.mk
include dat/tools/stat/local.mk
include dat/tools/strerror/local.mk
include dat/tools/trace/local.mk
