# SPDX-License-Identifier: BSD-2-Clause
# The registry, linked into libdat2 and, for their eyes inside, into the unit tests.
noinst_LTLIBRARIES += libregistry.la
libregistry_la_SOURCES = \
    %reldir%/ia_handles.cpp %reldir%/ia_handles.hpp
libregistry_la_LIBADD = libsupport.la
