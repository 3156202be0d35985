# SPDX-License-Identifier: BSD-2-Clause
libsoftverbs_base_la_SOURCES += \
    %reldir%/address.cpp %reldir%/address.hpp %reldir%/bell.cpp %reldir%/bell.hpp \
    %reldir%/device_states.hpp %reldir%/devices.cpp %reldir%/devices.hpp \
    %reldir%/directory.cpp %reldir%/directory.hpp \
    %reldir%/handshake.cpp %reldir%/handshake.hpp \
    %reldir%/hook.hpp %reldir%/index.cpp %reldir%/index.hpp %reldir%/index_groups.cpp %reldir%/index_layout.hpp %reldir%/index_ports.cpp %reldir%/index_survey.cpp \
    %reldir%/links.cpp %reldir%/message.hpp \
    %reldir%/per_process.hpp %reldir%/peer.cpp %reldir%/peer.hpp \
    %reldir%/port_faults.cpp %reldir%/port_faults.hpp %reldir%/ports.cpp %reldir%/ports.hpp \
    %reldir%/process.cpp %reldir%/process.hpp \
    %reldir%/record.cpp %reldir%/result.hpp \
    %reldir%/service.cpp %reldir%/service.hpp
