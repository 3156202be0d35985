# SPDX-License-Identifier: BSD-2-Clause
# softverbs(1), for users of the device. It reads fabrics with the core's own code and never joins
# one. All but main() is in a library of its own, which the unit test links too.
include tools/softverbs/explore/local.mk

noinst_LTLIBRARIES += libsoftverbs_tool.la
libsoftverbs_tool_la_CPPFLAGS = $(AM_CPPFLAGS) -DBINDIR='"$(bindir)"' -DLIBDIR='"$(libdir)"' -DFMT_HEADER_ONLY
libsoftverbs_tool_la_SOURCES = \
    %reldir%/arena_snapshot.cpp %reldir%/arena_snapshot.hpp \
    %reldir%/check.cpp %reldir%/check.hpp \
    %reldir%/child.cpp %reldir%/child.hpp \
    %reldir%/drop_in.cpp %reldir%/drop_in.hpp \
    %reldir%/empty_library.cpp %reldir%/empty_library.hpp \
    %reldir%/explain.cpp %reldir%/explain.hpp %reldir%/explanation.cpp %reldir%/explanation.hpp \
    %reldir%/fault.cpp %reldir%/fault.hpp \
    %reldir%/list.cpp %reldir%/list.hpp \
    %reldir%/members.cpp %reldir%/members.hpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/print.cpp %reldir%/print.hpp \
    %reldir%/run.cpp %reldir%/run.hpp \
    %reldir%/states.cpp %reldir%/states.hpp

bin_PROGRAMS += softverbs
softverbs_SOURCES = %reldir%/main.cpp
softverbs_LDADD = libsoftverbs_tool.la libexplore.la libtools.la libsoftverbs_sysfs.la libsoftverbs_core.la libsupport.la
