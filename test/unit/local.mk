# SPDX-License-Identifier: BSD-2-Clause
# Tests that see internals: one program per part.
check_PROGRAMS += test/unit/support_test
TESTS += test/unit/support_test
test_unit_support_test_SOURCES = %reldir%/support_test.cpp test/support/process.hpp
test_unit_support_test_LDADD = libtestmain.la libsupport.la

check_PROGRAMS += test/unit/quiet_fork_test
TESTS += test/unit/quiet_fork_test
test_unit_quiet_fork_test_SOURCES = %reldir%/quiet_fork_test.cpp test/support/process.hpp
test_unit_quiet_fork_test_LDADD = libtestmain.la

# The ABI table, as source that checks it while it is compiled.
check_PROGRAMS += test/unit/abi_test test/unit/api_test
TESTS += test/unit/abi_test test/unit/api_test test/unit/headers.bats test/unit/dat_1_2.bats test/unit/cpp_layer.bats
test_unit_abi_test_SOURCES = %reldir%/abi_test.cpp
nodist_test_unit_abi_test_SOURCES = %reldir%/abi_c.c %reldir%/abi_cxx.cpp
test_unit_abi_test_LDADD = libtestmain.la
%reldir%/abi_c.c: %reldir%/abi.awk %reldir%/abi.tsv
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(AWK) -v language=c -f $(srcdir)/test/unit/abi.awk \
	    $(srcdir)/test/unit/abi.tsv >$@.new && mv $@.new $@
%reldir%/abi_cxx.cpp: %reldir%/abi.awk %reldir%/abi.tsv
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(AWK) -v language=cxx -f $(srcdir)/test/unit/abi.awk \
	    $(srcdir)/test/unit/abi.tsv >$@.new && mv $@.new $@
CLEANFILES += %reldir%/abi_c.c %reldir%/abi_cxx.cpp
EXTRA_DIST += %reldir%/abi.awk %reldir%/abi.tsv %reldir%/headers.bats %reldir%/dat_1_2.bats %reldir%/cpp_layer.bats %reldir%/cpp_layer_cost.cpp

test_unit_api_test_SOURCES = %reldir%/extension_test.cpp %reldir%/handle_test.cpp \
    %reldir%/strerror_test.cpp
test_unit_api_test_LDADD = libtestmain.la libdatapi.la
# Of the core only the objects that a test names: where a template of std::string was not inlined, an object has it for whoever asks
# first, unless the standard library is asked before it.
test_of_core_parts = libtestmain.la -lstdc++ libdaplcore.la libsupport.la

check_PROGRAMS += test/unit/ep_state_test test/unit/cma_test test/unit/event_loop_test
TESTS += test/unit/ep_state_test test/unit/cma_test test/unit/event_loop_test
test_unit_ep_state_test_SOURCES = %reldir%/ep_state_test.cpp
test_unit_ep_state_test_LDADD = $(test_of_core_parts)
test_unit_cma_test_SOURCES = %reldir%/cma_test.cpp providers/cma/device.cpp test/support/process.hpp \
    %reldir%/fake_device_list.cpp %reldir%/fake_device_list.hpp
test_unit_cma_test_LDADD = $(test_of_core_parts)
test_unit_event_loop_test_SOURCES = %reldir%/event_loop_test.cpp dapl/cm/event_loop.cpp dapl/cm/lock.cpp dapl/codes.cpp
test_unit_event_loop_test_LDADD = libtestmain.la libsupport.la
check_PROGRAMS += test/unit/unlocked_step_test
TESTS += test/unit/unlocked_step_test
test_unit_unlocked_step_test_SOURCES = %reldir%/unlocked_step_test.cpp dapl/cm/unlocked_step.hpp dapl/cm/lock.cpp
test_unit_unlocked_step_test_LDADD = libtestmain.la libsupport.la
check_PROGRAMS += test/unit/fabric_test
TESTS += test/unit/fabric_test
test_unit_fabric_test_SOURCES = %reldir%/fabric_test.cpp %reldir%/fabric_directory_test.cpp %reldir%/fabric_death_test.cpp \
    %reldir%/fabric_peer_test.cpp %reldir%/fabric_fixture.hpp test/support/process.hpp
test_unit_fabric_test_LDADD = libtestmain.la libsoftverbs_core.la libsupport.la

# The core against a device that does what the test says.
check_PROGRAMS += test/unit/core_test
TESTS += test/unit/core_test
test_unit_core_test_SOURCES = %reldir%/data_path_test.cpp %reldir%/evd_polling_test.cpp %reldir%/evd_test.cpp \
    %reldir%/attributes_test.cpp %reldir%/cma_datagram_test.cpp providers/cma/datagram_message.cpp %reldir%/ep_calls_test.cpp %reldir%/extension_post_test.cpp %reldir%/ep_history_test.cpp %reldir%/handles_test.cpp %reldir%/service_points_test.cpp %reldir%/srq_test.cpp \
    %reldir%/rmr_test.cpp %reldir%/lock_limit_test.cpp %reldir%/flush_test.cpp test/support/process.hpp \
    test/support/sanitizer.hpp %reldir%/core_fixture.hpp %reldir%/fake_device.cpp %reldir%/fake_manager.cpp %reldir%/fake_device.hpp
test_unit_core_test_LDADD = libtestmain.la libdaplcore.la libsupport.la

# The choice of a device, and what is wrong with one.
check_PROGRAMS += test/unit/device_test
TESTS += test/unit/device_test
test_unit_device_test_SOURCES = %reldir%/device_test.cpp %reldir%/gid_test.cpp %reldir%/kernel_devices_test.cpp \
    %reldir%/locked_memory_test.cpp %reldir%/fake_device_list.cpp %reldir%/fake_device_list.hpp
test_unit_device_test_LDADD = $(test_of_core_parts)

check_PROGRAMS += test/unit/cm_test
TESTS += test/unit/cm_test
test_unit_cm_test_SOURCES = %reldir%/cm_test.cpp %reldir%/cm_addresses_test.cpp %reldir%/cm_channel_test.cpp \
    %reldir%/cm_peer_test.cpp %reldir%/cm_queue_pair_test.cpp %reldir%/cm_fixture.hpp %reldir%/cm_server.hpp test/support/process.hpp
test_unit_cm_test_LDADD = libtestmain.la libsoftverbs_core.la libsupport.la

check_PROGRAMS += test/unit/tool_test
TESTS += test/unit/tool_test
test_unit_tool_test_SOURCES = %reldir%/tool_test.cpp %reldir%/fabric_fixture.hpp test/support/process.hpp
test_unit_tool_test_LDADD = libtestmain.la libsoftverbs_tool.la libsoftverbs_core.la libsupport.la

check_PROGRAMS += test/unit/dat_conf_test
TESTS += test/unit/dat_conf_test
test_unit_dat_conf_test_SOURCES = %reldir%/dat_conf_test.cpp
test_unit_dat_conf_test_LDADD = libtestmain.la libregistry.la

TESTS += test/unit/providers.bats
EXTRA_DIST += test/unit/providers.bats

check_PROGRAMS += test/unit/scm_test
TESTS += test/unit/scm_test
test_unit_scm_test_SOURCES = %reldir%/scm_message_test.cpp %reldir%/scm_active_test.cpp test/support/process.hpp
test_unit_scm_test_LDADD = libtestmain.la -lstdc++ libscm.la libdaplcore.la libsoftverbs_core.la libsupport.la

# The core with the connection manager over sockets, on softverbs, all in one program; as one archive, since the two need
# each other.
check_LTLIBRARIES += libscm_with_core.la
libscm_with_core_la_SOURCES =
nodist_EXTRA_libscm_with_core_la_SOURCES = %reldir%/none.cpp
libscm_with_core_la_LIBADD = libdaplcore.la libscm.la
check_PROGRAMS += test/unit/scm_hostile_test
TESTS += test/unit/scm_hostile_test
test_unit_scm_hostile_test_SOURCES = %reldir%/scm_hostile_test.cpp test/support/process.hpp
test_unit_scm_hostile_test_LDADD = libtestmain.la libscm_with_core.la libsoftverbs_core.la libsupport.la

# The trace: what rings hold, and whose they are.
check_PROGRAMS += test/unit/trace_test
TESTS += test/unit/trace_test
test_unit_trace_test_SOURCES = %reldir%/trace_ring_test.cpp %reldir%/log_sinks_test.cpp test/support/process.hpp test/support/sanitizer.hpp
test_unit_trace_test_LDADD = libtestmain.la libsupport.la

check_PROGRAMS += test/unit/device_counters_test
TESTS += test/unit/device_counters_test
test_unit_device_counters_test_SOURCES = %reldir%/device_counters_test.cpp dapl/device_counters.cpp dapl/codes.cpp
test_unit_device_counters_test_LDADD = libtestmain.la

# What dat_stat is told.
check_PROGRAMS += test/unit/status_test
TESTS += test/unit/status_test
test_unit_status_test_SOURCES = %reldir%/status_test.cpp test/support/process.hpp
test_unit_status_test_LDADD = $(test_of_core_parts)

# opendat.yaml and where settings come from; linked with the reader, where libraries load it.
check_PROGRAMS += test/unit/configuration_test
TESTS += test/unit/configuration_test
test_unit_configuration_test_SOURCES = %reldir%/configuration_test.cpp %reldir%/setting_sources_test.cpp \
    %reldir%/configuration_fixture.hpp test/support/process.hpp
test_unit_configuration_test_LDADD = libtestmain.la libyamlreader.la libsupport.la

# What set-uid programs obey.
EXTRA_PROGRAMS += test/unit/print_settings
check_DATA += test/unit/print_settings
test_unit_print_settings_SOURCES = %reldir%/print_settings.cpp
test_unit_print_settings_LDADD = libyamlreader.la libsupport.la
TESTS += test/unit/setuid.bats
EXTRA_DIST += test/unit/setuid.bats

# The registration broker: several members in one process, and real ones that die.
check_PROGRAMS += test/unit/registration_test
TESTS += test/unit/registration_test
test_unit_registration_test_SOURCES = %reldir%/registration_table_test.cpp %reldir%/registration_queue_test.cpp \
    %reldir%/registration_upcalls_test.cpp %reldir%/registration_policy_test.cpp %reldir%/registration_corrupt_test.cpp \
    %reldir%/registration_fixture.hpp test/support/process.hpp test/support/sanitizer.hpp
test_unit_registration_test_LDADD = libtestmain.la libregistrations.la libsupport.la
# A policy of a shared object, and three that are refused.
check_LTLIBRARIES += test/unit/registration_policy_example.la test/unit/registration_policy_old.la \
    test/unit/registration_policy_empty.la test/unit/registration_no_policy.la
policy_module_flags = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
test_unit_registration_policy_example_la_SOURCES = %reldir%/registration_policy_example.c
test_unit_registration_policy_example_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
test_unit_registration_policy_example_la_LDFLAGS = $(policy_module_flags)
test_unit_registration_policy_old_la_SOURCES = %reldir%/registration_policy_example.c
test_unit_registration_policy_old_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default -DPOLICY_VERSION=99
test_unit_registration_policy_old_la_LDFLAGS = $(policy_module_flags)
test_unit_registration_policy_empty_la_SOURCES = %reldir%/registration_policy_example.c
test_unit_registration_policy_empty_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default -DPOLICY_NONE
test_unit_registration_policy_empty_la_LDFLAGS = $(policy_module_flags)
test_unit_registration_no_policy_la_SOURCES = %reldir%/registration_policy_example.c
test_unit_registration_no_policy_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default -Ddat_reg_policy=another_name
test_unit_registration_no_policy_la_LDFLAGS = $(policy_module_flags)
check_PROGRAMS += test/unit/registration_stress_test
TESTS += test/unit/registration_stress_test
registration_worker_headers = %reldir%/registration_fixture.hpp %reldir%/registration_checker.hpp \
    %reldir%/registration_worker.hpp test/support/process.hpp test/support/sanitizer.hpp
test_unit_registration_stress_test_SOURCES = %reldir%/registration_stress_test.cpp $(registration_worker_headers)
test_unit_registration_stress_test_LDADD = libtestmain.la libregistrations.la libsupport.la
check_PROGRAMS += test/unit/registration_death_test
TESTS += test/unit/registration_death_test
test_unit_registration_death_test_SOURCES = %reldir%/registration_death_test.cpp $(registration_worker_headers)
test_unit_registration_death_test_CPPFLAGS = $(AM_CPPFLAGS) -DREGISTRATION_FAULT_POINTS
test_unit_registration_death_test_LDADD = libtestmain.la libregistrations_faulty.la libsupport.la
