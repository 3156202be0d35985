# SPDX-License-Identifier: BSD-2-Clause
# What the devices look like in /sys. The trees are written by libsoftverbs.so and, after a change,
# by softverbs(1).
noinst_LTLIBRARIES += libsoftverbs_sysfs.la
libsoftverbs_sysfs_la_CPPFLAGS = $(AM_CPPFLAGS) -DFMT_HEADER_ONLY
libsoftverbs_sysfs_la_SOURCES = \
    %reldir%/entries.cpp %reldir%/entries.hpp \
    %reldir%/paths.cpp %reldir%/paths.hpp %reldir%/sight.hpp \
    %reldir%/tree.cpp %reldir%/tree.hpp

# The functions of the C library that take a path; only libsoftverbs.so has them.
libsoftverbs_la_SOURCES += \
    %reldir%/device_node.cpp %reldir%/device_node.hpp \
    %reldir%/name_calls.cpp \
    %reldir%/next_functions.cpp %reldir%/next_functions.def %reldir%/next_functions.hpp \
    %reldir%/open_calls.cpp \
    %reldir%/own_tree.cpp %reldir%/own_tree.hpp \
    %reldir%/rewritten.cpp %reldir%/rewritten.hpp \
    %reldir%/status_calls.cpp
