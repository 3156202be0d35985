# SPDX-License-Identifier: BSD-2-Clause
# The registration broker: its table, its policies. Knows neither verbs nor the core, so that tools link it too.
noinst_LTLIBRARIES += libregistrations.la
libregistrations_la_SOURCES = \
    %reldir%/broker.hpp \
    %reldir%/directory.cpp %reldir%/directory.hpp
libdaplcore_la_LIBADD = libregistrations.la
