# SPDX-License-Identifier: BSD-2-Clause
# dat_doctor: builds on the parts of dat_info (tools/info/local.mk). All but main() and the order of
# the checks is in a library of its own, which the unit test links too.
noinst_LTLIBRARIES += libdoctor.la
libdoctor_la_SOURCES = \
    %reldir%/finding.hpp %reldir%/findings.def \
    %reldir%/ia.cpp %reldir%/ia.hpp \
    %reldir%/libraries.cpp %reldir%/libraries.hpp \
    %reldir%/link.cpp %reldir%/link.hpp \
    %reldir%/machine.cpp %reldir%/machine.hpp \
    %reldir%/peer.cpp %reldir%/peer.hpp \
    %reldir%/ports.cpp %reldir%/ports.hpp \
    %reldir%/report.cpp %reldir%/report.hpp

bin_PROGRAMS += dat_doctor
dat_doctor_SOURCES = tools/info/linked_reader.cpp \
    %reldir%/examination.cpp %reldir%/examination.hpp \
    %reldir%/main.cpp \
    %reldir%/options.cpp %reldir%/options.hpp \
    %reldir%/transfer.cpp %reldir%/transfer.hpp \
    %reldir%/trial.cpp %reldir%/trial.hpp
dat_doctor_LDADD = libdoctor.la $(libinfo_programs)
dat_doctor_LDFLAGS = $(AM_LDFLAGS) $(libinfo_exports)
dat_doctor_DEPENDENCIES = libdoctor.la $(libinfo_programs) tools/info/exported.list
