# SPDX-License-Identifier: BSD-2-Clause
# dat_strerror: all but main() is in a library of its own, which the tests link too.
noinst_LTLIBRARIES += libcatalogue.la
libcatalogue_la_SOURCES = \
    %reldir%/catalogue.cpp %reldir%/catalogue.hpp \
    %reldir%/cm_events.def \
    %reldir%/events.def \
    %reldir%/finding_help.def \
    %reldir%/message_help.def \
    %reldir%/symptoms.def

bin_PROGRAMS += dat_strerror
dat_strerror_SOURCES = %reldir%/main.cpp
dat_strerror_LDADD = libcatalogue.la libtools.la
