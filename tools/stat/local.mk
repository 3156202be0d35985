# SPDX-License-Identifier: BSD-2-Clause
# dat_stat: asks processes for their state. All but main() is in a library of its own, which the
# unit test links too.
noinst_LTLIBRARIES += libstat.la
libstat_la_SOURCES = \
    %reldir%/client.cpp %reldir%/client.hpp \
    %reldir%/ends.cpp %reldir%/ends.hpp \
    %reldir%/hang.cpp %reldir%/hang.hpp \
    %reldir%/object.cpp %reldir%/object.hpp \
    %reldir%/prometheus.cpp %reldir%/prometheus.hpp \
    %reldir%/registrations.cpp %reldir%/registrations.hpp \
    %reldir%/state.cpp %reldir%/state.hpp \
    %reldir%/state_json.cpp %reldir%/state_json.hpp \
    %reldir%/table.cpp %reldir%/table.hpp

bin_PROGRAMS += dat_stat
dat_stat_SOURCES = %reldir%/main.cpp
dat_stat_LDADD = libstat.la libregistrations.la libtools.la libsupport.la
