# SPDX-License-Identifier: BSD-2-Clause
softverbs_device_sources = \
    %reldir%/fault_points.cpp %reldir%/fault_points.def %reldir%/fault_points.hpp \
    %reldir%/kick.cpp %reldir%/kick.hpp \
    %reldir%/layout.hpp \
    %reldir%/requesters.cpp %reldir%/requesters.hpp \
    %reldir%/shared_part.hpp \
    %reldir%/transfer_mark.hpp

# Files without a fault point, compiled once for both libraries; fault_points.hpp refuses to be
# included there.
libsoftverbs_base_la_SOURCES += \
    %reldir%/arena.cpp %reldir%/arena.hpp \
    %reldir%/barrier.cpp %reldir%/barrier.hpp \
    %reldir%/own_pages.cpp %reldir%/own_pages.hpp \
    %reldir%/owner_arena.cpp %reldir%/owner_arena.hpp \
    %reldir%/peer_image.cpp %reldir%/peer_image.hpp
