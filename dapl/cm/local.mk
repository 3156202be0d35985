# SPDX-License-Identifier: BSD-2-Clause
libdaplcore_la_SOURCES += \
    %reldir%/event_loop.cpp %reldir%/event_loop.hpp \
    %reldir%/failure.hpp \
    %reldir%/lock.cpp %reldir%/lock.hpp \
    %reldir%/manager.hpp
