# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += test/dapl/ep_state_test test/dapl/event_loop_test
TESTS += test/dapl/ep_state_test test/dapl/event_loop_test
test_dapl_ep_state_test_SOURCES = %reldir%/ep_state_test.cpp $(without_libdat2)
test_dapl_ep_state_test_LDADD = $(test_of_core_parts)
test_dapl_event_loop_test_SOURCES = %reldir%/event_loop_test.cpp dapl/cm/event_loop.cpp dapl/cm/lock.cpp dapl/base/codes.cpp
test_dapl_event_loop_test_LDADD = libtestmain.la libsupport.la
check_PROGRAMS += test/dapl/unlocked_step_test
TESTS += test/dapl/unlocked_step_test
test_dapl_unlocked_step_test_SOURCES = %reldir%/unlocked_step_test.cpp dapl/cm/unlocked_step.hpp dapl/cm/lock.cpp
test_dapl_unlocked_step_test_LDADD = libtestmain.la libsupport.la
# Tests the core on a device that does what the test says.
check_PROGRAMS += test/dapl/core_test
TESTS += test/dapl/core_test
test_dapl_core_test_SOURCES = %reldir%/data_path_test.cpp %reldir%/evd_polling_test.cpp %reldir%/evd_test.cpp \
    %reldir%/attributes_test.cpp test/cma/cma_datagram_test.cpp providers/cma/datagram_message.cpp %reldir%/ep_calls_test.cpp %reldir%/extension_post_test.cpp %reldir%/ep_history_test.cpp %reldir%/handles_test.cpp %reldir%/service_points_test.cpp %reldir%/srq_test.cpp \
    %reldir%/rmr_test.cpp %reldir%/lock_limit_test.cpp %reldir%/flush_test.cpp %reldir%/held_completions_test.cpp test/support/process.hpp \
    test/support/sanitizer.hpp %reldir%/core_fixture.hpp %reldir%/fake_device.cpp %reldir%/fake_manager.cpp %reldir%/fake_device.hpp
test_dapl_core_test_LDADD = libtestmain.la libdaplcore.la libsupport.la
# Tests what the library reports to dat_stat.
check_PROGRAMS += test/dapl/status_test
TESTS += test/dapl/status_test
test_dapl_status_test_SOURCES = %reldir%/status_test.cpp $(without_libdat2) test/support/process.hpp
test_dapl_status_test_LDADD = $(test_of_core_parts)
# Tests the trace of a whole provider library.
check_PROGRAMS += test/dapl/trace_test
TESTS += test/dapl/trace_test
test_dapl_trace_test_SOURCES = %reldir%/trace_test.cpp test/support/trace_section.hpp $(dat_test_headers)
test_dapl_trace_test_LDADD = $(dat_test_libs)
