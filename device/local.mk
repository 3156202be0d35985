# SPDX-License-Identifier: BSD-2-Clause
# The part of the core that reads what the kernel reports about its adapters.
libdaplcore_la_SOURCES += \
    %reldir%/address.cpp %reldir%/address.hpp \
    %reldir%/device.cpp %reldir%/device.hpp \
    %reldir%/device_counters.cpp %reldir%/device_counters.hpp \
    %reldir%/device_fault.cpp %reldir%/device_fault.hpp \
    %reldir%/device_file.cpp %reldir%/device_file.hpp \
    %reldir%/explain_device.cpp %reldir%/explain_device.hpp \
    %reldir%/explain_kernel.cpp %reldir%/explain_kernel.hpp \
    %reldir%/interfaces.cpp %reldir%/interfaces.hpp \
    %reldir%/kernel_devices.cpp %reldir%/kernel_devices.hpp \
    %reldir%/locked_memory.cpp %reldir%/locked_memory.hpp
