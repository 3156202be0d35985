# SPDX-License-Identifier: BSD-2-Clause
# The core, linked once into each provider library.
noinst_LTLIBRARIES += libdaplcore.la
libdaplcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libdaplcore_la_SOURCES = \
    %reldir%/address.cpp %reldir%/address.hpp \
    %reldir%/agent_thread.cpp %reldir%/agent_thread.hpp \
    %reldir%/aix_profile.cpp %reldir%/aix_profile.hpp \
    %reldir%/cno.cpp %reldir%/cno.hpp \
    %reldir%/cno_entry.cpp \
    %reldir%/codes.cpp %reldir%/codes.hpp \
    %reldir%/completion.cpp %reldir%/completion.hpp \
    %reldir%/completion_status.cpp %reldir%/completion_status.hpp \
    %reldir%/cr.cpp %reldir%/cr.hpp \
    %reldir%/counter_names.hpp \
    %reldir%/counters.cpp %reldir%/counters.hpp \
    %reldir%/csp.cpp %reldir%/csp.hpp \
    %reldir%/dat.hpp \
    %reldir%/deadline.hpp \
    %reldir%/delayed_ack.cpp %reldir%/delayed_ack.hpp \
    %reldir%/device_counters.cpp %reldir%/device_counters.hpp \
    %reldir%/device_events.cpp %reldir%/device_events.hpp \
    %reldir%/entry.hpp \
    %reldir%/ep.cpp %reldir%/ep.hpp \
    %reldir%/ep_attributes.cpp %reldir%/ep_attributes.hpp \
    %reldir%/ep_connect.cpp \
    %reldir%/ep_connection.cpp %reldir%/ep_connection.hpp \
    %reldir%/ep_end.cpp %reldir%/ep_end.hpp \
    %reldir%/ep_entry.cpp \
    %reldir%/ep_history.cpp %reldir%/ep_history.hpp \
    %reldir%/ep_numbers.hpp \
    %reldir%/ep_modify.cpp \
    %reldir%/ep_state.cpp %reldir%/ep_state.hpp \
    %reldir%/evd.cpp %reldir%/evd.hpp \
    %reldir%/evd_control.cpp \
    %reldir%/evd_entry.cpp \
    %reldir%/evd_flush.cpp \
    %reldir%/evd_wait.cpp \
    %reldir%/event_ring.hpp \
    %reldir%/events.cpp %reldir%/events.hpp \
    %reldir%/explain.cpp %reldir%/explain.hpp \
    %reldir%/extension.cpp \
    %reldir%/guard.hpp \
    %reldir%/handle.cpp \
    %reldir%/interfaces.cpp %reldir%/interfaces.hpp \
    %reldir%/ia.cpp %reldir%/ia.hpp \
    %reldir%/ia_attributes.cpp \
    %reldir%/ia_close.cpp \
    %reldir%/list.hpp \
    %reldir%/lmr.cpp %reldir%/lmr.hpp \
    %reldir%/locked_memory.cpp %reldir%/locked_memory.hpp \
    %reldir%/merging.hpp \
    %reldir%/named_attributes.cpp %reldir%/named_attributes.hpp \
    %reldir%/object.hpp \
    %reldir%/pool.cpp %reldir%/pool.hpp \
    %reldir%/rmr.cpp %reldir%/rmr.hpp \
    %reldir%/rmr_bind.cpp \
    %reldir%/rmr_entry.cpp \
    %reldir%/with_slot.hpp \
    %reldir%/post.cpp %reldir%/post.hpp \
    %reldir%/private_data.hpp \
    %reldir%/process_state.hpp \
    %reldir%/provided_memory.cpp %reldir%/provided_memory.hpp \
    %reldir%/provider.cpp %reldir%/provider.hpp \
    %reldir%/provider_table.cpp \
    %reldir%/psp.cpp %reldir%/psp.hpp \
    %reldir%/pz.cpp %reldir%/pz.hpp \
    %reldir%/refusal.cpp %reldir%/refusal.hpp \
    %reldir%/rsp.cpp %reldir%/rsp.hpp \
    %reldir%/service_point.cpp %reldir%/service_point.hpp \
    %reldir%/service_thread.cpp %reldir%/service_thread.hpp \
    %reldir%/shared_channel.cpp %reldir%/shared_channel.hpp \
    %reldir%/shared_receives.cpp %reldir%/shared_receives.hpp \
    %reldir%/shared_slots.hpp \
    %reldir%/slot_ring.hpp \
    %reldir%/srq.cpp %reldir%/srq.hpp \
    %reldir%/srq_entry.cpp \
    %reldir%/status/ages.cpp %reldir%/status/ages.hpp \
    %reldir%/status/document.cpp %reldir%/status/document.hpp \
    %reldir%/status/server.cpp %reldir%/status/server.hpp \
    %reldir%/status/snapshot.cpp %reldir%/status/snapshot.hpp \
    %reldir%/trace_levels.cpp %reldir%/trace_levels.hpp \
    %reldir%/trclvl_entries.S \
    %reldir%/traced.cpp %reldir%/traced.hpp \
    %reldir%/ud_endpoint.cpp %reldir%/ud_endpoint.hpp \
    %reldir%/ud_exchange.cpp %reldir%/ud_exchange.hpp \
    %reldir%/ud_post.cpp %reldir%/ud_post.hpp \
    %reldir%/wake_descriptors.cpp %reldir%/wake_descriptors.hpp \
    %reldir%/work_request.hpp \
    %reldir%/verbs/gid.cpp %reldir%/verbs/gid.hpp \
    %reldir%/verbs/handles.hpp

include dapl/cm/local.mk
include dapl/memory/local.mk
