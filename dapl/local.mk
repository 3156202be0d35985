# SPDX-License-Identifier: BSD-2-Clause
# The core, linked once into each provider library.
noinst_LTLIBRARIES += libdaplcore.la
libdaplcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libdaplcore_la_SOURCES = \
    %reldir%/ep_state.cpp %reldir%/ep_state.hpp

include dapl/cm/local.mk
