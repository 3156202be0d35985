# SPDX-License-Identifier: BSD-2-Clause
libdaplcore_la_SOURCES += \
    %reldir%/device.cpp %reldir%/device.hpp \
    %reldir%/device_fault.cpp %reldir%/device_fault.hpp \
    %reldir%/device_file.cpp %reldir%/device_file.hpp \
    %reldir%/kernel_devices.cpp %reldir%/kernel_devices.hpp \
    %reldir%/explain_device.cpp %reldir%/explain_device.hpp \
    %reldir%/explain_kernel.cpp %reldir%/explain_kernel.hpp \
    %reldir%/event_loop.cpp %reldir%/event_loop.hpp \
    %reldir%/failed_try.cpp %reldir%/failed_try.hpp \
    %reldir%/failure.hpp \
    %reldir%/lock.cpp %reldir%/lock.hpp \
    %reldir%/manager.hpp \
    %reldir%/traced_message.hpp \
    %reldir%/unlocked_step.hpp
