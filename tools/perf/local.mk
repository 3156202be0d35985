# SPDX-License-Identifier: BSD-2-Clause
# dat_perf uses only installed headers and libdat2. All but main() is in a library of its own, which
# the unit test links too.
noinst_LTLIBRARIES += libperf.la
libperf_la_SOURCES = \
    %reldir%/channel.cpp %reldir%/channel.hpp \
    %reldir%/check.cpp \
    %reldir%/client.cpp %reldir%/client.hpp \
    %reldir%/cpus.cpp %reldir%/cpus.hpp \
    %reldir%/device.cpp %reldir%/device.hpp \
    %reldir%/histogram.cpp %reldir%/histogram.hpp \
    %reldir%/interrupt.hpp \
    %reldir%/lane.cpp %reldir%/lane.hpp \
    %reldir%/loops.cpp %reldir%/loops.hpp \
    %reldir%/measurement.cpp %reldir%/measurement.hpp \
    %reldir%/memory.cpp %reldir%/memory.hpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/plot.cpp %reldir%/plot.hpp \
    %reldir%/report.cpp %reldir%/report.hpp \
    %reldir%/session.cpp %reldir%/session.hpp \
    %reldir%/spin.hpp \
    %reldir%/ticks.hpp

bin_PROGRAMS += dat_perf
dat_perf_SOURCES = %reldir%/main.cpp
dat_perf_LDADD = libperf.la libtools.la libdat2.la
