# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += test/support/support_test
TESTS += test/support/support_test
test_support_support_test_SOURCES = %reldir%/poll_patience_test.cpp %reldir%/process_test.cpp %reldir%/support_test.cpp \
    %reldir%/process.hpp
test_support_support_test_LDADD = libtestmain.la libsupport.la
check_PROGRAMS += test/support/quiet_fork_test
TESTS += test/support/quiet_fork_test
test_support_quiet_fork_test_SOURCES = %reldir%/quiet_fork_test.cpp %reldir%/process.hpp
test_support_quiet_fork_test_LDADD = libtestmain.la
# Tests the trace: what rings hold, and whose they are.
check_PROGRAMS += test/support/trace_test
TESTS += test/support/trace_test
test_support_trace_test_SOURCES = %reldir%/trace_ring_test.cpp %reldir%/log_sinks_test.cpp %reldir%/process.hpp %reldir%/sanitizer.hpp
test_support_trace_test_LDADD = libtestmain.la libsupport.la
# Tests opendat.yaml and where settings come from. The program is linked with the reader, which
# libraries load.
check_PROGRAMS += test/support/configuration_test
TESTS += test/support/configuration_test
test_support_configuration_test_SOURCES = %reldir%/configuration_test.cpp %reldir%/setting_sources_test.cpp \
    %reldir%/configuration_fixture.hpp %reldir%/process.hpp
test_support_configuration_test_LDADD = libtestmain.la libyamlreader.la libsupport.la
# Tests what set-uid programs obey.
EXTRA_PROGRAMS += test/support/print_settings
check_DATA += test/support/print_settings
test_support_print_settings_SOURCES = %reldir%/print_settings.cpp
test_support_print_settings_LDADD = libyamlreader.la libsupport.la
TESTS += test/support/setuid.bats
EXTRA_DIST += %reldir%/setuid.bats
# Tests what fails a run of continuous integration. This takes minutes, and a build of its own.
LONG_TESTS += %reldir%/gate.bats
EXTRA_DIST += %reldir%/gate.bats
