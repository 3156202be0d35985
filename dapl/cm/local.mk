# SPDX-License-Identifier: BSD-2-Clause
libdaplcore_la_SOURCES += \
    %reldir%/event_loop.cpp %reldir%/event_loop.hpp \
    %reldir%/failed_try.cpp %reldir%/failed_try.hpp \
    %reldir%/failure.hpp \
    %reldir%/lent_socket.cpp %reldir%/lent_socket.hpp \
    %reldir%/lock.cpp %reldir%/lock.hpp \
    %reldir%/manager.hpp %reldir%/side.hpp \
    %reldir%/traced_message.hpp \
    %reldir%/unlocked_step.hpp
