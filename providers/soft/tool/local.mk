# SPDX-License-Identifier: BSD-2-Clause
# softverbs(1): for users of the device. It reads fabrics by the core's own code and never joins one.
bin_PROGRAMS += softverbs
softverbs_CPPFLAGS = $(AM_CPPFLAGS) -DBINDIR='"$(bindir)"' -DLIBDIR='"$(libdir)"'
softverbs_CXXFLAGS = $(AM_CXXFLAGS) -DFMT_HEADER_ONLY
softverbs_SOURCES = \
    %reldir%/arena_snapshot.cpp %reldir%/arena_snapshot.hpp \
    %reldir%/drop_in.cpp %reldir%/drop_in.hpp \
    %reldir%/empty_library.cpp %reldir%/empty_library.hpp \
    %reldir%/list.cpp %reldir%/list.hpp \
    %reldir%/main.cpp \
    %reldir%/members.cpp %reldir%/members.hpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/print.cpp %reldir%/print.hpp \
    %reldir%/run.cpp %reldir%/run.hpp
softverbs_LDADD = libsoftverbs_core.la libsupport.la
