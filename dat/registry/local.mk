# SPDX-License-Identifier: BSD-2-Clause
# The registry, linked into libdat2 and into the unit tests, which look at its internals.
noinst_LTLIBRARIES += libregistry.la
libregistry_la_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_CONF_DIRECTORY='"$(sysconfdir)"'
libregistry_la_SOURCES = \
    %reldir%/conf_fields.cpp %reldir%/conf_fields.hpp \
    %reldir%/conf_file.cpp %reldir%/conf_file.hpp \
    %reldir%/configured_ias.cpp %reldir%/configured_ias.hpp \
    %reldir%/dat_conf.cpp %reldir%/dat_conf.hpp \
    %reldir%/ia_handles.cpp %reldir%/ia_handles.hpp \
    %reldir%/lease_guard.hpp \
    %reldir%/lifetime.cpp %reldir%/lifetime.hpp \
    %reldir%/open_failure.cpp %reldir%/open_failure.hpp \
    %reldir%/provider_errors.cpp %reldir%/provider_errors.hpp \
    %reldir%/provider_library.cpp %reldir%/provider_library.hpp \
    %reldir%/registry.cpp %reldir%/registry.hpp \
    %reldir%/waits.cpp %reldir%/waits.hpp
libregistry_la_LIBADD = libsupport.la -ldl
