# SPDX-License-Identifier: BSD-2-Clause
# Tests the choice of a device, and the reports of what is wrong with one.
check_PROGRAMS += test/device/device_test
TESTS += test/device/device_test
test_device_device_test_SOURCES = %reldir%/device_test.cpp %reldir%/address_test.cpp $(without_libdat2) %reldir%/gid_test.cpp %reldir%/kernel_devices_test.cpp \
    %reldir%/locked_memory_test.cpp %reldir%/fake_device_list.cpp %reldir%/fake_device_list.hpp
test_device_device_test_LDADD = $(test_of_core_parts)
check_PROGRAMS += test/device/device_counters_test
TESTS += test/device/device_counters_test
test_device_device_counters_test_SOURCES = %reldir%/device_counters_test.cpp device/device_counters.cpp dapl/base/codes.cpp
test_device_device_counters_test_LDADD = libtestmain.la
