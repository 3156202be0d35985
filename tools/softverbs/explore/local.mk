# SPDX-License-Identifier: BSD-2-Clause
# softverbs explore (softverbs-explore(1)). Linked into softverbs, and into the unit test.
noinst_LTLIBRARIES += libexplore.la
libexplore_la_CPPFLAGS = $(AM_CPPFLAGS) -DFMT_HEADER_ONLY
libexplore_la_SOURCES = \
    %reldir%/campaign.cpp %reldir%/campaign.hpp \
    %reldir%/child.cpp %reldir%/child.hpp \
    %reldir%/core_files.cpp %reldir%/core_files.hpp \
    %reldir%/explore.cpp %reldir%/explore.hpp \
    %reldir%/files.cpp %reldir%/files.hpp \
    %reldir%/finding.cpp %reldir%/finding.hpp \
    %reldir%/keep.cpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/outcome.cpp %reldir%/outcome.hpp \
    %reldir%/report.cpp %reldir%/report.hpp \
    %reldir%/report_json.cpp \
    %reldir%/report_junit.cpp \
    %reldir%/runner.cpp %reldir%/runner.hpp \
    %reldir%/shrink.cpp %reldir%/shrink.hpp \
    %reldir%/single_run.cpp %reldir%/single_run.hpp \
    %reldir%/stacks.cpp %reldir%/stacks.hpp
