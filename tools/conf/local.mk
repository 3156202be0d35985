# SPDX-License-Identifier: BSD-2-Clause
# dat_conf: writes and checks configuration files. All but main() is in a library of its own, which
# the unit test links too.
noinst_LTLIBRARIES += libconftool.la
libconftool_la_SOURCES = \
    %reldir%/check.cpp %reldir%/check.hpp \
    %reldir%/edit.cpp %reldir%/edit.hpp \
    %reldir%/generate.cpp %reldir%/generate.hpp \
    %reldir%/machine.cpp %reldir%/machine.hpp \
    %reldir%/other_ages.cpp %reldir%/other_ages.hpp \
    %reldir%/record_text.cpp %reldir%/record_text.hpp \
    %reldir%/replace_file.cpp %reldir%/replace_file.hpp

bin_PROGRAMS += dat_conf
dat_conf_SOURCES = %reldir%/main.cpp
dat_conf_LDADD = libconftool.la libtools.la libregistry.la libdaplcore.la libyamlreader.la libsupport.la
