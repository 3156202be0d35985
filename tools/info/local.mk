# SPDX-License-Identifier: BSD-2-Clause
# dat_info contains libdat2's objects, so that it makes libdat2's own choices and can look into
# them, whichever libdat2 the loader finds. Providers find the functions of libdat2 that they need
# in the program.
noinst_LTLIBRARIES += libinfo.la
libinfo_la_SOURCES = \
    %reldir%/attributes.cpp %reldir%/attributes.hpp \
    %reldir%/explanation.cpp %reldir%/explanation.hpp \
    %reldir%/explain_records.cpp %reldir%/explain_records.hpp \
    %reldir%/finding.cpp %reldir%/finding.hpp \
    %reldir%/listing.cpp %reldir%/listing.hpp \
    %reldir%/settings.cpp %reldir%/settings.hpp
libinfo_exports = -Wl,--dynamic-list=$(top_srcdir)/tools/info/exported.list -Wl,-u,dat_registry_add_provider
libinfo_programs = libinfo.la libtools.la libdatapi.la libdaplcore.la libyamlreader.la libsupport.la
EXTRA_DIST += %reldir%/exported.list

bin_PROGRAMS += dat_info
dat_info_SOURCES = %reldir%/linked_reader.cpp %reldir%/main.cpp %reldir%/options.cpp %reldir%/options.hpp
dat_info_LDADD = $(libinfo_programs)
dat_info_LDFLAGS = $(AM_LDFLAGS) $(libinfo_exports)
dat_info_DEPENDENCIES = $(libinfo_programs) %reldir%/exported.list
