# SPDX-License-Identifier: BSD-2-Clause
# softverbs(1): for users of the device. It reads fabrics by the core's own code and never joins one.
bin_PROGRAMS += softverbs
softverbs_CPPFLAGS = $(AM_CPPFLAGS) -DBINDIR='"$(bindir)"' -DLIBDIR='"$(libdir)"'
softverbs_SOURCES = \
    %reldir%/main.cpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/run.cpp %reldir%/run.hpp
softverbs_LDADD = libsoftverbs_core.la libsupport.la
