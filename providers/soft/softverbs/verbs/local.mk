# SPDX-License-Identifier: BSD-2-Clause
softverbs_device_sources += \
    %reldir%/address_handle.cpp %reldir%/address_handle.hpp %reldir%/roce_header.cpp %reldir%/roce_header.hpp \
    %reldir%/absent_regions.cpp %reldir%/absent_regions.hpp \
    %reldir%/adapter.cpp %reldir%/adapter.hpp %reldir%/adapter_service.cpp \
    %reldir%/agent.cpp %reldir%/agent.hpp %reldir%/agent_service.cpp \
    %reldir%/async_events.cpp \
    %reldir%/atomics.cpp %reldir%/atomics.hpp \
    %reldir%/channel_wakeup.cpp %reldir%/channel_wakeup.hpp \
    %reldir%/completion_channel.cpp %reldir%/completion_moderation.cpp \
    %reldir%/completion_queue.cpp %reldir%/completion_queue.hpp \
    %reldir%/completion_poll.cpp \
    %reldir%/completion_queue_resize.cpp \
    %reldir%/completion_ring.cpp %reldir%/completion_ring.hpp \
    %reldir%/context.hpp \
    %reldir%/datagram.hpp %reldir%/datagram_receive.cpp %reldir%/datagram_send.cpp \
    %reldir%/datagram_targets.cpp %reldir%/datagram_targets.hpp \
    %reldir%/end_registration.cpp providers/soft/softverbs/end_registration.hpp \
    %reldir%/on_demand.cpp %reldir%/on_demand.hpp \
    %reldir%/delivery.cpp %reldir%/delivery.hpp \
    %reldir%/device.cpp %reldir%/devices.hpp \
    %reldir%/device_memory.cpp %reldir%/device_memory.hpp %reldir%/dmabuf.cpp \
    %reldir%/diagnosis.cpp %reldir%/diagnosis.hpp providers/soft/softverbs/failure.hpp \
    %reldir%/direct_post.cpp \
    %reldir%/ended_objects.hpp \
    %reldir%/event_object.hpp \
    %reldir%/executor.cpp %reldir%/executor_move.cpp %reldir%/executor.hpp \
    %reldir%/extended.hpp \
    %reldir%/extended_completion.cpp \
    %reldir%/extended_objects.hpp \
    %reldir%/extended_send.cpp \
    %reldir%/faulted_requests.cpp %reldir%/flush.cpp \
    %reldir%/link_state.cpp \
    %reldir%/memory_regions.cpp %reldir%/memory_regions.hpp \
    %reldir%/memory_windows.cpp %reldir%/memory_windows.hpp \
    %reldir%/multicast.cpp %reldir%/multicast.hpp \
    %reldir%/object_table.hpp \
    %reldir%/parent_domain.cpp %reldir%/parent_domain.hpp \
    %reldir%/payload.cpp %reldir%/payload.hpp \
    %reldir%/query.cpp %reldir%/query.hpp \
    %reldir%/placement.cpp %reldir%/placement.hpp \
    %reldir%/placement_watch.cpp %reldir%/placement_watch.hpp \
    %reldir%/queue_pair.cpp %reldir%/queue_pair.hpp \
    %reldir%/queue_pair_open.cpp \
    %reldir%/queue_pair_state.cpp \
    %reldir%/receive_queue.cpp \
    %reldir%/region_extensions.cpp providers/soft/softverbs/region_extensions.hpp \
    %reldir%/request_kinds.hpp \
    %reldir%/send_completions.hpp \
    %reldir%/send_queue.cpp \
    %reldir%/shared_receive_queue.cpp %reldir%/shared_receive_queue.hpp \
    %reldir%/shared_receive_resize.cpp \
    %reldir%/take_shared_receive.hpp \
    %reldir%/target.cpp %reldir%/target.hpp \
    %reldir%/target_access.hpp \
    %reldir%/timestamp.hpp \
    %reldir%/xrc_domain.cpp %reldir%/xrc_domain.hpp %reldir%/xrc_receive_queue.cpp
libsoftverbs_core_la_SOURCES += $(softverbs_device_sources)

# Files without a fault point (providers/soft/softverbs/arena/local.mk).
libsoftverbs_base_la_SOURCES += \
    %reldir%/provided_memory.cpp \
    %reldir%/send_builder.cpp %reldir%/send_builder.hpp \
    %reldir%/strings.cpp \
    %reldir%/transitions.cpp %reldir%/transitions.hpp

# The sources with fault points, for tests that end a process at one of them.
check_LTLIBRARIES += libsoftverbs_faulty.la
libsoftverbs_faulty_la_SOURCES = $(softverbs_device_sources)
libsoftverbs_faulty_la_LIBADD = libsoftverbs_base.la
libsoftverbs_faulty_la_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
libsoftverbs_faulty_la_CXXFLAGS = $(libsoftverbs_core_la_CXXFLAGS)
