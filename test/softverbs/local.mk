# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += test/softverbs/fabric_test
TESTS += test/softverbs/fabric_test
test_softverbs_fabric_test_SOURCES = %reldir%/fabric_test.cpp %reldir%/fabric_directory_test.cpp %reldir%/fabric_death_test.cpp \
    %reldir%/fabric_peer_test.cpp %reldir%/fabric_fixture.hpp test/support/process.hpp
test_softverbs_fabric_test_LDADD = libtestmain.la libsoftverbs_core.la libsupport.la
check_PROGRAMS += test/softverbs/cm_test
TESTS += test/softverbs/cm_test
test_softverbs_cm_test_SOURCES = %reldir%/cm_test.cpp %reldir%/cm_addresses_test.cpp %reldir%/cm_channel_test.cpp \
    %reldir%/cm_peer_test.cpp %reldir%/cm_queue_pair_test.cpp %reldir%/cm_fixture.hpp %reldir%/cm_server.hpp test/support/process.hpp
test_softverbs_cm_test_LDADD = libtestmain.la libsoftverbs_core.la libsupport.la
check_PROGRAMS += test/softverbs/sysfs_test
TESTS += test/softverbs/sysfs_test
test_softverbs_sysfs_test_SOURCES = %reldir%/sysfs_test.cpp test/support/process.hpp
test_softverbs_sysfs_test_LDADD = libtestmain.la libsoftverbs_sysfs.la libsoftverbs_core.la libsupport.la
check_PROGRAMS += test/softverbs/heap_areas_test
TESTS += test/softverbs/heap_areas_test
test_softverbs_heap_areas_test_SOURCES = %reldir%/heap_areas_test.cpp providers/soft/softverbs/heap/areas.cpp providers/soft/softverbs/heap/areas.hpp \
    providers/soft/softverbs/heap/kernel.hpp
test_softverbs_heap_areas_test_LDADD = libtestmain.la
# Tests verbs between real processes.
verbs_test_headers = %reldir%/verbs_pair.hpp test/support/process.hpp
verbs_test_libs = libtestmain.la libsoftverbs_core.la libsupport.la
verbs_tests = \
    test/softverbs/verbs_transfer_test \
    test/softverbs/verbs_order_test \
    test/softverbs/verbs_errors_test \
    test/softverbs/verbs_shared_receive_test \
    test/softverbs/verbs_xrc_test \
    test/softverbs/verbs_events_test \
    test/softverbs/verbs_moderation_test \
    test/softverbs/verbs_completions_test \
    test/softverbs/verbs_resize_test \
    test/softverbs/verbs_windows_test \
    test/softverbs/verbs_extended_test \
    test/softverbs/verbs_memory_test \
    test/softverbs/verbs_optional_test \
    test/softverbs/verbs_limits_test \
    test/softverbs/rdmacm_test \
    test/softverbs/rdmacm_datagram_test \
    test/softverbs/verbs_pages_test \
    test/softverbs/every_verb_test \
    test/softverbs/every_operation_test \
    test/softverbs/verbs_death_test \
    test/softverbs/verbs_kill_test \
    test/softverbs/verbs_hostile_test \
    test/softverbs/verbs_scribbles_test \
    test/softverbs/verbs_fault_points_test \
    test/softverbs/verbs_atomic_lock_test \
    test/softverbs/verbs_end_registration_test \
    test/softverbs/verbs_region_absence_test \
    test/softverbs/verbs_quiet_test \
    test/softverbs/verbs_placement_test \
    test/softverbs/verbs_scale_test \
    test/softverbs/verbs_devices_test \
    test/softverbs/verbs_roce_test \
    test/softverbs/verbs_link_test \
    test/softverbs/verbs_faults_test \
    test/softverbs/fault_rules_test \
    test/softverbs/fault_files_test \
    test/softverbs/verbs_threads_test \
    test/softverbs/verbs_timestamps_test \
    test/softverbs/verbs_unreliable_test \
    test/softverbs/verbs_datagram_test \
    test/softverbs/verbs_multicast_test \
    test/softverbs/verbs_datagram_death_test
# What adapters may have besides: other memory, other domains.
test_softverbs_verbs_optional_test_SOURCES = %reldir%/verbs_on_demand_test.cpp %reldir%/verbs_device_memory_test.cpp \
    %reldir%/verbs_parent_domain_test.cpp %reldir%/remote_requests.hpp $(verbs_test_headers)
test_softverbs_verbs_optional_test_LDADD = $(verbs_test_libs)
check_PROGRAMS += $(verbs_tests)
TESTS += $(verbs_tests)
test_softverbs_verbs_transfer_test_SOURCES = %reldir%/verbs_transfer_test.cpp $(verbs_test_headers)
test_softverbs_verbs_transfer_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_timestamps_test_SOURCES = %reldir%/verbs_timestamps_test.cpp $(verbs_test_headers)
test_softverbs_verbs_timestamps_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_order_test_SOURCES = %reldir%/verbs_order_test.cpp $(verbs_test_headers)
test_softverbs_verbs_order_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_errors_test_SOURCES = %reldir%/verbs_errors_test.cpp $(verbs_test_headers)
test_softverbs_verbs_errors_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_shared_receive_test_SOURCES = %reldir%/verbs_shared_receive_test.cpp $(verbs_test_headers)
test_softverbs_verbs_shared_receive_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_xrc_test_SOURCES = %reldir%/verbs_xrc_test.cpp %reldir%/attacker.hpp $(verbs_test_headers)
test_softverbs_verbs_xrc_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
test_softverbs_verbs_xrc_test_LDADD = libtestmain.la libsoftverbs_faulty.la libsupport.la
test_softverbs_verbs_events_test_SOURCES = %reldir%/verbs_events_test.cpp %reldir%/completion_events.hpp $(verbs_test_headers)
test_softverbs_verbs_events_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_moderation_test_SOURCES = %reldir%/verbs_moderation_test.cpp %reldir%/completion_events.hpp $(verbs_test_headers)
test_softverbs_verbs_moderation_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
test_softverbs_verbs_moderation_test_LDADD = libtestmain.la libsoftverbs_faulty.la libsupport.la
test_softverbs_verbs_completions_test_SOURCES = %reldir%/verbs_completions_test.cpp $(verbs_test_headers)
test_softverbs_verbs_completions_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_resize_test_SOURCES = %reldir%/verbs_resize_test.cpp $(verbs_test_headers)
test_softverbs_verbs_resize_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_windows_test_SOURCES = %reldir%/verbs_windows_test.cpp $(verbs_test_headers)
test_softverbs_verbs_windows_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_extended_test_SOURCES = %reldir%/verbs_extended_test.cpp $(verbs_test_headers)
test_softverbs_verbs_extended_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_memory_test_SOURCES = %reldir%/verbs_memory_test.cpp %reldir%/remote_requests.hpp $(verbs_test_headers)
test_softverbs_verbs_memory_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_limits_test_SOURCES = %reldir%/verbs_limits_test.cpp $(verbs_test_headers)
test_softverbs_verbs_limits_test_LDADD = $(verbs_test_libs)
test_softverbs_rdmacm_test_SOURCES = %reldir%/rdmacm_test.cpp %reldir%/cm_fixture.hpp test/support/process.hpp
test_softverbs_rdmacm_test_LDADD = $(verbs_test_libs)
test_softverbs_rdmacm_datagram_test_SOURCES = %reldir%/rdmacm_datagram_test.cpp %reldir%/cm_fixture.hpp test/support/process.hpp
test_softverbs_rdmacm_datagram_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_pages_test_SOURCES = %reldir%/verbs_pages_test.cpp %reldir%/verbs_shared_files_test.cpp \
    %reldir%/verbs_pages.hpp $(verbs_test_headers)
test_softverbs_verbs_pages_test_LDADD = $(verbs_test_libs)
if SHARED_HEAP
check_PROGRAMS += test/softverbs/shared_heap_test
TESTS += test/softverbs/shared_heap_test test/softverbs/shared_heap.bats
endif
test_softverbs_shared_heap_test_SOURCES = %reldir%/shared_heap_test.cpp %reldir%/shared_heap_verbs_test.cpp %reldir%/shared_heap.hpp \
    $(verbs_test_headers)
test_softverbs_shared_heap_test_LDADD = $(verbs_test_libs)
EXTRA_DIST += %reldir%/shared_heap.bats
test_softverbs_every_verb_test_SOURCES = %reldir%/every_verb_test.cpp %reldir%/absent.hpp %reldir%/cm_fixture.hpp $(verbs_test_headers)
test_softverbs_every_verb_test_LDADD = libtestmain.la libsoftverbs_remaining.la libsoftverbs_core.la libsupport.la
test_softverbs_every_operation_test_SOURCES = %reldir%/every_operation_test.cpp %reldir%/absent.hpp $(verbs_test_headers)
test_softverbs_every_operation_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_death_test_SOURCES = %reldir%/verbs_death_test.cpp $(verbs_test_headers)
test_softverbs_verbs_death_test_LDADD = $(verbs_test_libs)
fault_test_headers = %reldir%/fault_survivor.hpp %reldir%/fault_traffic.hpp $(verbs_test_headers)
test_softverbs_verbs_hostile_test_SOURCES = %reldir%/verbs_hostile_test.cpp %reldir%/attacker.hpp test/support/raw_member.hpp $(verbs_test_headers)
test_softverbs_verbs_hostile_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_scribbles_test_SOURCES = %reldir%/verbs_scribbles_test.cpp %reldir%/attacker.hpp %reldir%/datagram_pair.hpp $(verbs_test_headers)
test_softverbs_verbs_scribbles_test_LDADD = $(verbs_test_libs)
TESTS += %reldir%/many_processes.bats %reldir%/devices.bats %reldir%/roce.bats %reldir%/faults.bats
EXTRA_DIST += %reldir%/many_processes.bats %reldir%/devices.bats %reldir%/roce.bats %reldir%/faults.bats
check_DATA += test/bench/mesh
# The rules that a device keeps, as a table: run on soft0 here, on rdma_rxe in test/kernel.
EXTRA_PROGRAMS += test/softverbs/fidelity
check_DATA += test/softverbs/fidelity
test_softverbs_fidelity_SOURCES = %reldir%/fidelity.cpp %reldir%/fidelity_cases.cpp %reldir%/fidelity_cases.hpp %reldir%/fidelity_scene.cpp \
    %reldir%/fidelity_scene.hpp test/support/process.hpp test/support/sanitizer.hpp
test_softverbs_fidelity_LDADD = $(IBVERBS_LIBS)
TESTS += %reldir%/fidelity.bats
EXTRA_PROGRAMS += test/softverbs/two_links
check_DATA += test/softverbs/two_links
test_softverbs_two_links_SOURCES = %reldir%/two_links.cpp test/api/side.hpp
test_softverbs_two_links_LDADD = libdat2.la
EXTRA_DIST += %reldir%/fidelity.bats %reldir%/fidelity.table
LONG_TESTS += %reldir%/scribbles.bats
EXTRA_DIST += %reldir%/scribbles.bats
test_softverbs_verbs_kill_test_SOURCES = %reldir%/verbs_kill_test.cpp $(fault_test_headers)
test_softverbs_verbs_kill_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_fault_points_test_SOURCES = %reldir%/verbs_fault_points_test.cpp $(fault_test_headers)
test_softverbs_verbs_fault_points_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
test_softverbs_verbs_fault_points_test_LDADD = libtestmain.la libsoftverbs_faulty.la libsupport.la
test_softverbs_verbs_quiet_test_SOURCES = %reldir%/verbs_quiet_test.cpp $(verbs_test_headers)
test_softverbs_verbs_quiet_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
test_softverbs_verbs_quiet_test_LDADD = libtestmain.la libsoftverbs_faulty.la libsupport.la
test_softverbs_verbs_placement_test_SOURCES = %reldir%/verbs_placement_test.cpp $(verbs_test_headers)
test_softverbs_verbs_placement_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_atomic_lock_test_SOURCES = %reldir%/verbs_atomic_lock_test.cpp $(verbs_test_headers)
test_softverbs_verbs_atomic_lock_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
test_softverbs_verbs_atomic_lock_test_LDADD = libtestmain.la libsoftverbs_faulty.la libsupport.la
test_softverbs_verbs_end_registration_test_SOURCES = %reldir%/verbs_end_registration_test.cpp $(verbs_test_headers)
test_softverbs_verbs_end_registration_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
test_softverbs_verbs_end_registration_test_LDADD = libtestmain.la libsoftverbs_faulty.la libsupport.la
test_softverbs_verbs_region_absence_test_SOURCES = %reldir%/verbs_region_absence_test.cpp $(verbs_test_headers)
test_softverbs_verbs_region_absence_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
test_softverbs_verbs_region_absence_test_LDADD = libtestmain.la libsoftverbs_faulty.la libsupport.la
test_softverbs_verbs_faults_test_SOURCES = %reldir%/verbs_faults_test.cpp %reldir%/verbs_fault_events_test.cpp \
    %reldir%/fault_fixture.hpp %reldir%/cm_fixture.hpp %reldir%/connection.hpp %reldir%/datagram_pair.hpp test/support/raw_member.hpp $(verbs_test_headers)
test_softverbs_verbs_faults_test_LDADD = $(verbs_test_libs)
test_softverbs_fault_files_test_SOURCES = %reldir%/fault_files_test.cpp
test_softverbs_fault_files_test_LDADD = libyamlreader.la $(verbs_test_libs)
test_softverbs_fault_rules_test_SOURCES = %reldir%/fault_rules_test.cpp
test_softverbs_fault_rules_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_link_test_SOURCES = %reldir%/verbs_link_test.cpp %reldir%/connection.hpp %reldir%/datagram_pair.hpp %reldir%/cm_fixture.hpp \
    test/api/failing_calls.hpp test/support/raw_member.hpp $(verbs_test_headers)
test_softverbs_verbs_link_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_devices_test_SOURCES = %reldir%/verbs_devices_test.cpp %reldir%/datagram_pair.hpp $(verbs_test_headers)
test_softverbs_verbs_devices_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_roce_test_SOURCES = %reldir%/verbs_roce_test.cpp %reldir%/datagram_pair.hpp %reldir%/cm_fixture.hpp $(verbs_test_headers)
test_softverbs_verbs_roce_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_scale_test_SOURCES = %reldir%/verbs_scale_test.cpp $(verbs_test_headers)
test_softverbs_verbs_scale_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_threads_test_SOURCES = %reldir%/verbs_threads_test.cpp $(verbs_test_headers)
test_softverbs_verbs_threads_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_unreliable_test_SOURCES = %reldir%/verbs_unreliable_test.cpp $(verbs_test_headers)
test_softverbs_verbs_unreliable_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_datagram_test_SOURCES = %reldir%/verbs_datagram_test.cpp %reldir%/datagram_pair.hpp $(verbs_test_headers)
test_softverbs_verbs_datagram_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_multicast_test_SOURCES = %reldir%/verbs_multicast_test.cpp %reldir%/datagram_pair.hpp $(verbs_test_headers)
test_softverbs_verbs_multicast_test_LDADD = $(verbs_test_libs)
test_softverbs_verbs_datagram_death_test_SOURCES = %reldir%/verbs_datagram_death_test.cpp %reldir%/datagram_pair.hpp $(verbs_test_headers)
test_softverbs_verbs_datagram_death_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFTVERBS_FAULT_POINTS
test_softverbs_verbs_datagram_death_test_LDADD = libtestmain.la libsoftverbs_faulty.la libsupport.la
# Our own programs under seeds of fault rules.
TESTS += %reldir%/own_faults.bats
EXTRA_DIST += %reldir%/explored_pair %reldir%/own_faults.bats %reldir%/own_faults.yaml %reldir%/own_noise.yaml
