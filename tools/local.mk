# SPDX-License-Identifier: BSD-2-Clause
# Shared by the command-line tools: command lines (getopt_table for tools whose options the
# reference has fixed), JSON, colours, reports of failures, the clock, and the socket by which two
# ends meet.
noinst_LTLIBRARIES += libtools.la
libtools_la_SOURCES = \
    %reldir%/common/clock.hpp \
    %reldir%/common/getopt_table.cpp %reldir%/common/getopt_table.hpp \
    %reldir%/common/failure.cpp %reldir%/common/failure.hpp \
    %reldir%/common/json.cpp %reldir%/common/json.hpp \
    %reldir%/common/libraries.cpp %reldir%/common/libraries.hpp \
    %reldir%/common/options.cpp %reldir%/common/options.hpp \
    %reldir%/common/count_text.hpp \
    %reldir%/common/terminal.cpp %reldir%/common/terminal.hpp \
    %reldir%/common/socket.cpp %reldir%/common/socket.hpp

include tools/conf/local.mk
include tools/info/local.mk
include tools/doctor/local.mk
include tools/perf/local.mk
include tools/ping/local.mk
include tools/regd/local.mk
include tools/stat/local.mk
include tools/strerror/local.mk
include tools/trace/local.mk
