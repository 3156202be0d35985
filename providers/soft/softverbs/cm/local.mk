# SPDX-License-Identifier: BSD-2-Clause
libsoftverbs_base_la_SOURCES += \
    %reldir%/addresses.cpp %reldir%/connect.cpp %reldir%/connections.cpp %reldir%/datagrams.cpp %reldir%/ece.cpp %reldir%/endpoints.cpp \
    %reldir%/engine.cpp %reldir%/engine.hpp %reldir%/events.cpp %reldir%/identifier.hpp %reldir%/identifiers.cpp \
    %reldir%/messages.hpp %reldir%/multicast.cpp %reldir%/queue_pairs.cpp %reldir%/shared_receives.cpp
