# SPDX-License-Identifier: BSD-2-Clause
# Tests the registration broker with several members in one process, and with real processes that
# die.
check_PROGRAMS += test/broker/registration_test
TESTS += test/broker/registration_test
test_broker_registration_test_SOURCES = %reldir%/registration_table_test.cpp %reldir%/registration_queue_test.cpp \
    %reldir%/registration_upcalls_test.cpp %reldir%/registration_policy_test.cpp %reldir%/registration_corrupt_test.cpp \
    %reldir%/registration_fixture.hpp test/support/process.hpp test/support/sanitizer.hpp
test_broker_registration_test_LDADD = libtestmain.la libregistrations.la libsupport.la
# A policy in a shared object, and three that are refused.
check_LTLIBRARIES += test/broker/registration_policy_example.la test/broker/registration_policy_old.la \
    %reldir%/registration_policy_empty.la %reldir%/registration_no_policy.la
policy_module_flags = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
test_broker_registration_policy_example_la_SOURCES = %reldir%/registration_policy_example.c
test_broker_registration_policy_example_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
test_broker_registration_policy_example_la_LDFLAGS = $(policy_module_flags)
test_broker_registration_policy_old_la_SOURCES = %reldir%/registration_policy_example.c
test_broker_registration_policy_old_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default -DPOLICY_VERSION=99
test_broker_registration_policy_old_la_LDFLAGS = $(policy_module_flags)
test_broker_registration_policy_empty_la_SOURCES = %reldir%/registration_policy_example.c
test_broker_registration_policy_empty_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default -DPOLICY_NONE
test_broker_registration_policy_empty_la_LDFLAGS = $(policy_module_flags)
test_broker_registration_no_policy_la_SOURCES = %reldir%/registration_policy_example.c
test_broker_registration_no_policy_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default -Ddat_reg_policy=another_name
test_broker_registration_no_policy_la_LDFLAGS = $(policy_module_flags)
check_PROGRAMS += test/broker/registration_stress_test
TESTS += test/broker/registration_stress_test
registration_worker_headers = %reldir%/registration_fixture.hpp %reldir%/registration_checker.hpp \
    %reldir%/registration_worker.hpp test/support/process.hpp test/support/sanitizer.hpp
test_broker_registration_stress_test_SOURCES = %reldir%/registration_stress_test.cpp $(registration_worker_headers)
test_broker_registration_stress_test_LDADD = libtestmain.la libregistrations.la libsupport.la
check_PROGRAMS += test/broker/registration_death_test
TESTS += test/broker/registration_death_test
test_broker_registration_death_test_SOURCES = %reldir%/registration_death_test.cpp $(registration_worker_headers)
test_broker_registration_death_test_CPPFLAGS = $(AM_CPPFLAGS) -DREGISTRATION_FAULT_POINTS
test_broker_registration_death_test_LDADD = libtestmain.la libregistrations_faulty.la libsupport.la
