# SPDX-License-Identifier: BSD-2-Clause
# The core, linked once into each provider library.
noinst_LTLIBRARIES += libdaplcore.la
libdaplcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libdaplcore_la_SOURCES = \
    %reldir%/adapter/ia.cpp %reldir%/adapter/ia.hpp \
    %reldir%/adapter/provided_memory.cpp %reldir%/adapter/provided_memory.hpp \
    %reldir%/adapter/refusal.cpp %reldir%/adapter/refusal.hpp \
    %reldir%/adapter/service_thread.cpp %reldir%/adapter/service_thread.hpp \
    %reldir%/adapter/wake_descriptors.cpp %reldir%/adapter/wake_descriptors.hpp \
    %reldir%/base/codes.cpp %reldir%/base/codes.hpp \
    %reldir%/base/counter_names.hpp \
    %reldir%/base/counters.cpp %reldir%/base/counters.hpp \
    %reldir%/base/dat.hpp \
    %reldir%/base/deadline.hpp \
    %reldir%/base/guard.cpp %reldir%/base/guard.hpp \
    %reldir%/base/list.hpp \
    %reldir%/base/merging.hpp \
    %reldir%/base/object.hpp \
    %reldir%/base/pool.cpp %reldir%/base/pool.hpp \
    %reldir%/base/process_state.hpp \
    %reldir%/cm/private_data.hpp \
    %reldir%/ep/completion.cpp \
    %reldir%/ep/completion_status.cpp %reldir%/ep/completion_status.hpp \
    %reldir%/ep/decorated.hpp \
    %reldir%/ep/delayed_ack.cpp %reldir%/ep/delayed_ack.hpp \
    %reldir%/ep/device_failure.cpp %reldir%/ep/device_failure.hpp \
    %reldir%/ep/ep.cpp %reldir%/ep/ep.hpp \
    %reldir%/ep/ep_attributes.cpp %reldir%/ep/ep_attributes.hpp \
    %reldir%/ep/ep_connect.cpp \
    %reldir%/ep/ep_connection.cpp %reldir%/ep/ep_connection.hpp \
    %reldir%/ep/ep_end.cpp %reldir%/ep/ep_end.hpp %reldir%/ep/ep_name.hpp \
    %reldir%/ep/ep_entry.cpp \
    %reldir%/ep/ep_history.cpp %reldir%/ep/ep_history.hpp \
    %reldir%/ep/ep_modify.cpp \
    %reldir%/ep/ep_numbers.hpp \
    %reldir%/ep/ep_state.cpp %reldir%/ep/ep_state.hpp \
    %reldir%/ep/evd_dequeue.cpp \
    %reldir%/ep/plain_completion.hpp \
    %reldir%/ep/plain_post.hpp \
    %reldir%/ia/extension.cpp \
    %reldir%/ep/post.cpp %reldir%/ep/post.hpp \
    %reldir%/ep/post_limit.cpp %reldir%/ep/post_limit.hpp \
    %reldir%/ep/rmr_bind.cpp %reldir%/ep/rmr_bind.hpp \
    %reldir%/ep/shared_receives.cpp %reldir%/ep/shared_receives.hpp \
    %reldir%/ep/shared_slots.hpp \
    %reldir%/ep/socket_connect.hpp \
    %reldir%/ep/srq.cpp %reldir%/ep/srq.hpp \
    %reldir%/ep/srq_entry.cpp \
    %reldir%/ep/with_slot.hpp \
    %reldir%/evd/agent_thread.cpp %reldir%/evd/agent_thread.hpp \
    %reldir%/evd/cno.cpp %reldir%/evd/cno.hpp \
    %reldir%/evd/cno_entry.cpp \
    %reldir%/evd/completion.hpp \
    %reldir%/evd/dequeue.hpp \
    %reldir%/evd/evd.cpp %reldir%/evd/evd.hpp \
    %reldir%/evd/evd_control.cpp \
    %reldir%/evd/evd_entry.cpp \
    %reldir%/evd/evd_flush.cpp \
    %reldir%/evd/evd_wait.cpp \
    %reldir%/evd/event_ring.hpp \
    %reldir%/evd/events.cpp %reldir%/evd/events.hpp \
    %reldir%/evd/held_completions.cpp %reldir%/evd/held_completions.hpp \
    %reldir%/evd/shared_channel.cpp %reldir%/evd/shared_channel.hpp \
    %reldir%/ia/counters_entry.cpp \
    %reldir%/ia/describe.cpp %reldir%/ia/describe.hpp \
    %reldir%/ia/device_events.cpp %reldir%/ia/device_events.hpp \
    %reldir%/ia/ia_attributes.cpp \
    %reldir%/ia/ia_close.cpp %reldir%/ia/ia_close.hpp \
    %reldir%/ia/ia_open.cpp \
    %reldir%/ia/start_provider.cpp \
    %reldir%/ia/trace_levels.cpp %reldir%/ia/trace_levels.hpp \
    %reldir%/ia/trclvl_entries.S \
    %reldir%/provider/library.hpp \
    %reldir%/listen/cr.cpp %reldir%/listen/cr.hpp \
    %reldir%/listen/csp.cpp %reldir%/listen/csp.hpp \
    %reldir%/listen/psp.cpp %reldir%/listen/psp.hpp \
    %reldir%/listen/reserved_ep.cpp %reldir%/listen/reserved_ep.hpp \
    %reldir%/listen/rsp.cpp %reldir%/listen/rsp.hpp \
    %reldir%/listen/ssp.cpp %reldir%/listen/ssp.hpp \
    %reldir%/listen/service_point.cpp %reldir%/listen/service_point.hpp \
    %reldir%/memory/lmr.cpp %reldir%/memory/lmr.hpp \
    %reldir%/memory/pz.cpp %reldir%/memory/pz.hpp \
    %reldir%/memory/read_sink.cpp %reldir%/memory/read_sink.hpp \
    %reldir%/memory/rmr.cpp %reldir%/memory/rmr.hpp \
    %reldir%/memory/rmr_entry.cpp \
    %reldir%/provider/aix_profile.cpp %reldir%/provider/aix_profile.hpp \
    %reldir%/provider/entry.hpp \
    %reldir%/provider/explain.cpp %reldir%/provider/explain.hpp \
    %reldir%/provider/handle.cpp \
    %reldir%/provider/named_attributes.hpp \
    %reldir%/provider/provider.hpp \
    %reldir%/provider/provider_table.cpp \
    %reldir%/provider/traced.cpp %reldir%/provider/traced.hpp \
    %reldir%/status/ages.cpp %reldir%/status/ages.hpp \
    %reldir%/status/document.cpp %reldir%/status/document.hpp \
    %reldir%/status/server.cpp %reldir%/status/server.hpp \
    %reldir%/status/snapshot.cpp %reldir%/status/snapshot.hpp \
    %reldir%/ep/ud_endpoint.cpp %reldir%/ep/ud_endpoint.hpp \
    %reldir%/ep/ud_exchange.cpp %reldir%/ep/ud_exchange.hpp \
    %reldir%/ep/ud_post.cpp %reldir%/ep/ud_post.hpp \
    %reldir%/transfer/decoration.hpp \
    %reldir%/transfer/side.hpp \
    %reldir%/transfer/slot_ring.hpp \
    %reldir%/transfer/work_request.hpp \
    %reldir%/verbs/device_extensions.cpp %reldir%/verbs/device_extensions.hpp \
    %reldir%/verbs/gid.cpp %reldir%/verbs/gid.hpp \
    %reldir%/verbs/handles.hpp \
    %reldir%/verbs/post.cpp %reldir%/verbs/post.hpp \
    %reldir%/verbs/subnet.cpp %reldir%/verbs/subnet.hpp

include device/local.mk
include dapl/cm/local.mk
include broker/local.mk
include check/local.mk
