# SPDX-License-Identifier: BSD-2-Clause
# The core, linked once into each provider library.
noinst_LTLIBRARIES += libdaplcore.la
libdaplcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libdaplcore_la_SOURCES = \
    %reldir%/address.cpp %reldir%/address.hpp \
    %reldir%/cno.hpp \
    %reldir%/codes.cpp %reldir%/codes.hpp \
    %reldir%/cr.cpp %reldir%/cr.hpp \
    %reldir%/dat.hpp \
    %reldir%/entry.hpp \
    %reldir%/ep.hpp \
    %reldir%/ep_connect.cpp \
    %reldir%/ep_connection.cpp %reldir%/ep_connection.hpp \
    %reldir%/ep_state.cpp %reldir%/ep_state.hpp \
    %reldir%/evd.hpp \
    %reldir%/event_ring.hpp \
    %reldir%/events.hpp \
    %reldir%/guard.hpp \
    %reldir%/ia.hpp \
    %reldir%/list.hpp \
    %reldir%/lmr.hpp \
    %reldir%/object.hpp \
    %reldir%/pool.cpp %reldir%/pool.hpp \
    %reldir%/process_state.hpp \
    %reldir%/provider.hpp \
    %reldir%/provider_table.cpp \
    %reldir%/private_data.hpp \
    %reldir%/psp.cpp %reldir%/psp.hpp \
    %reldir%/pz.hpp \
    %reldir%/slot_ring.hpp \
    %reldir%/verbs/handles.hpp

include dapl/cm/local.mk
