# SPDX-License-Identifier: BSD-2-Clause
libsoftverbs_core_la_SOURCES += \
    %reldir%/directory.cpp %reldir%/directory.hpp \
    %reldir%/index.hpp %reldir%/message.hpp %reldir%/peer.hpp %reldir%/process.hpp \
    %reldir%/result.hpp %reldir%/service.hpp
