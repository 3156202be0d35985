# SPDX-License-Identifier: BSD-2-Clause
softverbs_verbs_sources = \
    %reldir%/address_handle.cpp %reldir%/address_handle.hpp \
    %reldir%/adapter.cpp %reldir%/adapter.hpp \
    %reldir%/agent.cpp %reldir%/agent.hpp \
    %reldir%/arena.cpp %reldir%/arena.hpp \
    %reldir%/async_events.cpp \
    %reldir%/atomics.cpp %reldir%/atomics.hpp \
    %reldir%/channel_wakeup.cpp %reldir%/channel_wakeup.hpp \
    %reldir%/completion_channel.cpp \
    %reldir%/completion_queue.cpp %reldir%/completion_queue.hpp \
    %reldir%/completion_queue_resize.cpp \
    %reldir%/completion_ring.cpp %reldir%/completion_ring.hpp \
    %reldir%/context.hpp \
    %reldir%/datagram.hpp %reldir%/datagram_receive.cpp %reldir%/datagram_send.cpp \
    %reldir%/datagram_targets.cpp %reldir%/datagram_targets.hpp \
    %reldir%/end_registration.cpp providers/soft/end_registration.hpp \
    %reldir%/foreign_arena.cpp %reldir%/foreign_arena.hpp \
    %reldir%/device.cpp \
    %reldir%/copy_setting.cpp %reldir%/copy_setting.hpp \
    %reldir%/exchange_rules.cpp %reldir%/exchange_rules.hpp \
    %reldir%/executor.cpp %reldir%/executor_direct.cpp %reldir%/executor.hpp \
    %reldir%/extended.hpp \
    %reldir%/extended_completion.cpp \
    %reldir%/extended_objects.hpp \
    %reldir%/extended_send.cpp \
    %reldir%/fault_points.cpp %reldir%/fault_points.def %reldir%/fault_points.hpp \
    %reldir%/flush.cpp \
    %reldir%/layout.hpp \
    %reldir%/hand_over.cpp \
    %reldir%/memory_map.cpp %reldir%/memory_map.hpp \
    %reldir%/memory_regions.cpp %reldir%/memory_regions.hpp \
    %reldir%/memory_windows.cpp %reldir%/memory_windows.hpp \
    %reldir%/own_pages.cpp %reldir%/own_pages.hpp \
    %reldir%/page_exchange.cpp %reldir%/page_exchange.hpp \
    %reldir%/page_file.cpp %reldir%/page_file.hpp \
    %reldir%/page_runs.cpp %reldir%/page_runs.hpp \
    %reldir%/payload.cpp %reldir%/payload.hpp \
    %reldir%/peer_pages.cpp %reldir%/peer_pages.hpp \
    %reldir%/provided_memory.cpp \
    %reldir%/query.cpp %reldir%/query.hpp \
    %reldir%/poll_patience.hpp \
    %reldir%/queue_pair.cpp %reldir%/queue_pair.hpp \
    %reldir%/queue_pair_state.cpp \
    %reldir%/receive_queue.cpp \
    %reldir%/send_builder.cpp %reldir%/send_builder.hpp \
    %reldir%/send_completions.hpp \
    %reldir%/send_queue.cpp \
    %reldir%/region_exchange.cpp %reldir%/region_exchange.hpp \
    %reldir%/shared_files.cpp %reldir%/shared_files.hpp \
    %reldir%/shared_pages.cpp %reldir%/shared_pages.hpp \
    %reldir%/shared_pages_exchange.cpp \
    %reldir%/shared_pages_fork.cpp \
    %reldir%/shared_part.hpp \
    %reldir%/shared_receive_queue.cpp %reldir%/shared_receive_queue.hpp \
    %reldir%/shared_receive_resize.cpp \
    %reldir%/strings.cpp \
    %reldir%/target.cpp %reldir%/target.hpp \
    %reldir%/transfer.cpp %reldir%/transfer.hpp \
    %reldir%/transitions.cpp %reldir%/transitions.hpp \
    %reldir%/write_guard.cpp %reldir%/write_guard.hpp
libsoftverbs_core_la_SOURCES += $(softverbs_verbs_sources)

# The same with fault points, for tests that end processes there.
check_LTLIBRARIES += libsoftverbs_faulty.la
libsoftverbs_faulty_la_SOURCES = $(softverbs_verbs_sources)
libsoftverbs_faulty_la_LIBADD = libsoftverbs_base.la
libsoftverbs_faulty_la_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
libsoftverbs_faulty_la_CXXFLAGS = $(libsoftverbs_core_la_CXXFLAGS)
