# SPDX-License-Identifier: BSD-2-Clause
# dat_trace: reads the memory of other processes. All but main() and the command line is in a
# library of its own, which the tests link too.
noinst_LTLIBRARIES += libtracing.la
libtracing_la_SOURCES = \
    %reldir%/clocks.cpp %reldir%/clocks.hpp \
    %reldir%/core_file.cpp %reldir%/core_file.hpp \
    %reldir%/dump_file.cpp %reldir%/dump_file.hpp \
    %reldir%/image.hpp \
    %reldir%/levels.cpp %reldir%/levels.hpp \
    %reldir%/machine.hpp \
    %reldir%/perfetto.cpp %reldir%/perfetto.hpp \
    %reldir%/process.cpp %reldir%/process.hpp \
    %reldir%/report.cpp %reldir%/report.hpp \
    %reldir%/snapshot.cpp %reldir%/snapshot.hpp \
    %reldir%/source.cpp %reldir%/source.hpp \
    %reldir%/timeline.cpp %reldir%/timeline.hpp

bin_PROGRAMS += dat_trace
dat_trace_SOURCES = %reldir%/main.cpp %reldir%/options.cpp %reldir%/options.hpp
dat_trace_LDADD = libtracing.la libtools.la libsupport.la
