# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += test/cma/cma_test
TESTS += test/cma/cma_test
test_cma_cma_test_SOURCES = %reldir%/cma_test.cpp $(without_libdat2) providers/cma/device.cpp test/support/process.hpp \
    test/device/fake_device_list.cpp test/device/fake_device_list.hpp
test_cma_cma_test_LDADD = $(test_of_core_parts)
# Tests the parts that test/fuzz covers, with the events of rdma_cm one by one.
check_PROGRAMS += test/cma/cma_events_test
TESTS += test/cma/cma_events_test
test_cma_cma_events_test_SOURCES = %reldir%/cma_events_test.cpp test/support/process.hpp $(fake_rdmacm)
test_cma_cma_events_test_LDADD = libtestmain.la $(cma_libs)
