# SPDX-License-Identifier: BSD-2-Clause

# Tests of libdat2 from outside.
check_PROGRAMS += test/api/every_function_test test/api/related_test
TESTS += test/api/every_function_test test/api/related_test test/api/libdat2.bats
test_api_every_function_test_SOURCES = %reldir%/every_function_test.c
test_api_every_function_test_LDADD = libdat2.la
test_api_related_test_SOURCES = %reldir%/related_test.c
test_api_related_test_LDADD = libdat2.la
# A C program that uses only the first proposal of extensions.
check_PROGRAMS += test/api/proposal_test
TESTS += test/api/proposal_test
test_api_proposal_test_SOURCES = %reldir%/proposal_test.c %reldir%/c_program.h
test_api_proposal_test_LDADD = libdat2.la
check_PROGRAMS += test/api/proposal_udat_test
TESTS += test/api/proposal_udat_test
test_api_proposal_udat_test_SOURCES = %reldir%/proposal_test.c %reldir%/c_program.h
test_api_proposal_udat_test_CPPFLAGS = $(AM_CPPFLAGS) -DDAT_EXT_PRIVILEGES
test_api_proposal_udat_test_LDADD = libdat2.la
# A C program that uses only DAT 1.2.
check_PROGRAMS += test/api/dat_1_2_test
TESTS += test/api/dat_1_2_test
test_api_dat_1_2_test_SOURCES = %reldir%/dat_1_2_test.c %reldir%/c_program.h
test_api_dat_1_2_test_CPPFLAGS = -I$(top_srcdir)/dat/include/dat-1.2 $(AM_CPPFLAGS)
test_api_dat_1_2_test_LDADD = libdat2.la
EXTRA_DIST += %reldir%/libdat2.bats %reldir%/libdat2.symbols

# Tests of the registry with the fake providers of test/compat/registry.
check_PROGRAMS += test/api/registry_test
TESTS += test/api/registry_test
test_api_registry_test_SOURCES = %reldir%/registry_test.cpp test/support/process.hpp
test_api_registry_test_LDADD = libtestmain.la -ldl

# Tests over soft0, through libdat2; most have a process at each end.
dat_test_headers = test/api/side.hpp test/support/address_file.hpp test/support/dat_conf.hpp test/support/over_datagrams.hpp test/support/over_sockets.hpp test/support/threads.hpp
dat_test_libs = libtestmain.la libdat2.la
dat_tests = \
    test/api/addresses_test \
    test/api/cpp_layer_test \
    test/api/connection_test \
    test/api/connection_codes_test \
    test/api/transfer_test \
    test/api/extension_test \
    test/api/counters_test \
    test/api/transport_test \
    test/api/codes_test \
    test/api/memory_test \
    test/api/provided_memory_test \
    test/api/object_id_test \
    test/api/fork_test \
    test/api/rmr_test \
    test/api/service_points_test \
    test/api/broken_test \
    test/api/failure_cause_test \
    test/api/disconnect_test \
    test/api/endpoint_test \
    test/api/query_test \
    test/api/status_test \
    test/api/registration_cache_test \
    test/api/trace_levels_test \
    test/api/delayed_ack_test \
    test/api/api_profile_test \
    test/api/evd_test \
    test/api/evd_scale_test \
    test/api/cno_test \
    test/api/srq_test \
    test/api/post_limit_test \
    test/api/completion_flags_test \
    test/api/scale_test \
    test/api/wake_up_test \
    test/api/threads_test \
    test/api/registration_bracket_test \
    test/api/registration_data_test \
    test/api/registration_peers_test \
    test/api/registration_reentry_test \
    test/api/registration_share_test \
    test/api/registration_test \
    test/api/limits_test
check_PROGRAMS += $(dat_tests) test/api/failing_calls_test test/api/stopped_peer_test
TESTS += $(dat_tests)
test_api_addresses_test_SOURCES = %reldir%/addresses_test.cpp $(dat_test_headers)
test_api_addresses_test_LDADD = $(dat_test_libs)
test_api_cpp_layer_test_SOURCES = %reldir%/cpp_layer_test.cpp $(dat_test_headers)
test_api_cpp_layer_test_LDADD = $(dat_test_libs)
test_api_transport_test_SOURCES = %reldir%/transport_test.cpp $(dat_test_headers)
test_api_transport_test_LDADD = $(dat_test_libs)
test_api_connection_test_SOURCES = %reldir%/connection_test.cpp $(dat_test_headers)
test_api_connection_test_LDADD = $(dat_test_libs)
test_api_connection_codes_test_SOURCES = %reldir%/connection_codes_test.cpp $(dat_test_headers)
test_api_connection_codes_test_LDADD = $(dat_test_libs)
test_api_transfer_test_SOURCES = %reldir%/transfer_test.cpp $(dat_test_headers)
test_api_transfer_test_LDADD = $(dat_test_libs)
test_api_extension_test_SOURCES = %reldir%/extension_test.cpp $(dat_test_headers)
test_api_extension_test_LDADD = $(dat_test_libs)
test_api_counters_test_SOURCES = %reldir%/counters_test.cpp $(dat_test_headers)
test_api_counters_test_LDADD = $(dat_test_libs)
test_api_codes_test_SOURCES = %reldir%/codes_test.cpp $(dat_test_headers)
test_api_codes_test_LDADD = $(dat_test_libs)
test_api_memory_test_SOURCES = %reldir%/memory_test.cpp $(dat_test_headers)
test_api_memory_test_LDADD = $(dat_test_libs)
test_api_provided_memory_test_SOURCES = %reldir%/provided_memory_test.cpp $(dat_test_headers)
test_api_provided_memory_test_LDADD = $(dat_test_libs)
test_api_object_id_test_SOURCES = %reldir%/object_id_test.cpp $(dat_test_headers)
test_api_object_id_test_LDADD = $(dat_test_libs)
test_api_fork_test_SOURCES = %reldir%/fork_test.cpp %reldir%/leaks_of_children.hpp $(dat_test_headers)
test_api_fork_test_LDADD = $(dat_test_libs)
test_api_rmr_test_SOURCES = %reldir%/rmr_test.cpp $(dat_test_headers)
test_api_rmr_test_LDADD = $(dat_test_libs)
test_api_service_points_test_SOURCES = %reldir%/service_points_test.cpp $(dat_test_headers)
test_api_service_points_test_LDADD = $(dat_test_libs)
test_api_broken_test_SOURCES = %reldir%/broken_test.cpp $(dat_test_headers)
test_api_broken_test_LDADD = $(dat_test_libs)
test_api_failure_cause_test_SOURCES = %reldir%/failure_cause_test.cpp %reldir%/leaks_of_children.hpp $(dat_test_headers)
test_api_failure_cause_test_LDADD = $(dat_test_libs)
test_api_disconnect_test_SOURCES = %reldir%/disconnect_test.cpp $(dat_test_headers)
test_api_disconnect_test_LDADD = $(dat_test_libs)
test_api_endpoint_test_SOURCES = %reldir%/endpoint_test.cpp $(dat_test_headers)
test_api_endpoint_test_LDADD = $(dat_test_libs)
test_api_status_test_SOURCES = %reldir%/status_test.cpp %reldir%/status_client.hpp $(dat_test_headers)
test_api_status_test_LDADD = $(dat_test_libs)
test_api_registration_cache_test_SOURCES = %reldir%/registration_cache_test.cpp test/support/registration_cache.cpp \
    test/support/registration_cache.hpp test/support/malloc_hooks.hpp $(dat_test_headers)
test_api_registration_cache_test_LDADD = $(dat_test_libs)
test_api_trace_levels_test_SOURCES = %reldir%/trace_levels_test.cpp test/support/named.hpp $(dat_test_headers)
test_api_trace_levels_test_LDADD = $(dat_test_libs)
test_api_api_profile_test_SOURCES = %reldir%/api_profile_test.cpp $(dat_test_headers)
test_api_api_profile_test_LDADD = $(dat_test_libs)
test_api_delayed_ack_test_SOURCES = %reldir%/delayed_ack_test.cpp test/api/ud_side.hpp test/support/named.hpp $(dat_test_headers)
test_api_delayed_ack_test_LDADD = $(dat_test_libs)
test_api_query_test_SOURCES = %reldir%/query_test.cpp $(dat_test_headers)
test_api_query_test_LDADD = $(dat_test_libs) -ldl
test_api_evd_test_SOURCES = %reldir%/evd_test.cpp $(dat_test_headers)
test_api_evd_test_LDADD = $(dat_test_libs)
test_api_evd_scale_test_SOURCES = %reldir%/evd_scale_test.cpp $(dat_test_headers)
test_api_evd_scale_test_LDADD = $(dat_test_libs)
test_api_cno_test_SOURCES = %reldir%/cno_test.cpp $(dat_test_headers)
test_api_cno_test_LDADD = $(dat_test_libs)
test_api_srq_test_SOURCES = %reldir%/srq_test.cpp $(dat_test_headers)
test_api_srq_test_LDADD = $(dat_test_libs)
test_api_post_limit_test_SOURCES = %reldir%/post_limit_test.cpp $(dat_test_headers)
test_api_post_limit_test_LDADD = $(dat_test_libs)
test_api_completion_flags_test_SOURCES = %reldir%/completion_flags_test.cpp $(dat_test_headers)
test_api_completion_flags_test_LDADD = $(dat_test_libs)
test_api_scale_test_SOURCES = %reldir%/scale_test.cpp $(dat_test_headers)
test_api_scale_test_LDADD = $(dat_test_libs)
test_api_wake_up_test_SOURCES = %reldir%/wake_up_test.cpp $(dat_test_headers)
test_api_wake_up_test_LDADD = $(dat_test_libs)
test_api_threads_test_SOURCES = %reldir%/threads_test.cpp $(dat_test_headers)
test_api_threads_test_LDADD = $(dat_test_libs)
registration_test_headers = test/api/registration_side.hpp test/support/named.hpp $(dat_test_headers)
test_api_registration_bracket_test_SOURCES = %reldir%/registration_bracket_test.cpp $(registration_test_headers)
test_api_registration_bracket_test_LDADD = $(dat_test_libs)
test_api_registration_peers_test_SOURCES = %reldir%/registration_peers_test.cpp $(registration_test_headers)
test_api_registration_peers_test_LDADD = $(dat_test_libs)
test_api_registration_reentry_test_SOURCES = %reldir%/registration_reentry_test.cpp test/support/malloc_hooks.hpp \
    test/support/registration_cache.hpp $(registration_test_headers)
test_api_registration_reentry_test_LDADD = $(dat_test_libs)
test_api_registration_share_test_SOURCES = %reldir%/registration_share_test.cpp $(registration_test_headers)
test_api_registration_share_test_LDADD = $(dat_test_libs)
test_api_registration_data_test_SOURCES = %reldir%/registration_data_test.cpp $(registration_test_headers)
test_api_registration_data_test_LDADD = $(dat_test_libs)
test_api_registration_test_SOURCES = %reldir%/registration_test.cpp $(registration_test_headers)
test_api_registration_test_LDADD = $(dat_test_libs)

test_api_failing_calls_test_SOURCES = %reldir%/failing_calls_test.cpp %reldir%/failing_calls.hpp \
    %reldir%/failures_life.hpp $(dat_test_headers)
test_api_failing_calls_test_LDADD = $(dat_test_libs) -ldl
test_api_failing_calls_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
test_api_stopped_peer_test_SOURCES = %reldir%/stopped_peer_test.cpp $(dat_test_headers)
test_api_stopped_peer_test_LDADD = $(dat_test_libs)
test_api_stopped_peer_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
test_api_limits_test_SOURCES = %reldir%/limits_test.cpp %reldir%/failures_life.hpp $(dat_test_headers)
test_api_limits_test_LDADD = $(dat_test_libs)

# libdaploscm finds the software device in libsoftverbs, which the test is linked with.
check_PROGRAMS += test/api/scm_test
TESTS += test/api/scm_test
test_api_scm_test_SOURCES = %reldir%/scm_test.cpp $(dat_test_headers)
test_api_scm_test_LDADD = libtestmain.la .libs/libsoftverbs.so libdat2.la
test_api_scm_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
test_api_scm_test_DEPENDENCIES = libtestmain.la libsoftverbs.la libdat2.la libdaploscm.la

check_PROGRAMS += test/api/three_providers_test
TESTS += test/api/three_providers_test
test_api_three_providers_test_SOURCES = %reldir%/three_providers_test.cpp %reldir%/status_client.hpp $(dat_test_headers)
test_api_three_providers_test_LDADD = libtestmain.la .libs/libsoftverbs.so libdat2.la
test_api_three_providers_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
test_api_three_providers_test_DEPENDENCIES = libtestmain.la libsoftverbs.la libdat2.la libdaploscm.la libdaplofa.la

# The same for libdaploucm.
ucm_programs = test/api/ucm_test test/api/ud_ucm_test test/api/connection_ucm_test
check_PROGRAMS += $(ucm_programs)
TESTS += $(ucm_programs)
ucm_libs = libtestmain.la .libs/libsoftverbs.so libdat2.la
ucm_ldflags = $(AM_LDFLAGS) -Wl,--no-as-needed
ucm_dependencies = libtestmain.la libsoftverbs.la libdat2.la libdaploucm.la
test_api_ucm_test_SOURCES = %reldir%/ucm_test.cpp $(dat_test_headers)
test_api_ucm_test_LDADD = $(ucm_libs)
test_api_ucm_test_LDFLAGS = $(ucm_ldflags)
test_api_ucm_test_DEPENDENCIES = $(ucm_dependencies)
test_api_ud_ucm_test_SOURCES = %reldir%/ud_test.cpp %reldir%/ud_side.hpp $(dat_test_headers)
test_api_ud_ucm_test_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_OVER_DATAGRAMS
test_api_ud_ucm_test_LDADD = $(ucm_libs)
test_api_ud_ucm_test_LDFLAGS = $(ucm_ldflags)
test_api_ud_ucm_test_DEPENDENCIES = $(ucm_dependencies)
test_api_connection_ucm_test_SOURCES = %reldir%/connection_test.cpp $(dat_test_headers)
test_api_connection_ucm_test_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_OVER_DATAGRAMS
test_api_connection_ucm_test_LDADD = $(ucm_libs)
test_api_connection_ucm_test_LDFLAGS = $(ucm_ldflags)
test_api_connection_ucm_test_DEPENDENCIES = $(ucm_dependencies)

# Sockets that become endpoints, with the connection managers over rdma_cm and over sockets.
check_PROGRAMS += test/api/socket_test test/api/socket_scm_test
TESTS += test/api/socket_test test/api/socket_scm_test
test_api_socket_test_SOURCES = %reldir%/socket_test.cpp $(dat_test_headers)
test_api_socket_test_LDADD = $(dat_test_libs)
test_api_socket_scm_test_SOURCES = %reldir%/socket_test.cpp $(dat_test_headers)
test_api_socket_scm_test_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_OVER_SOCKETS
test_api_socket_scm_test_LDADD = libtestmain.la .libs/libsoftverbs.so libdat2.la
test_api_socket_scm_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
test_api_socket_scm_test_DEPENDENCIES = libtestmain.la libsoftverbs.la libdat2.la libdaploscm.la

# Datagram endpoints, over rdma_cm and over TCP sockets.
check_PROGRAMS += test/api/ud_test test/api/ud_scm_test
TESTS += test/api/ud_test test/api/ud_scm_test
test_api_ud_test_SOURCES = %reldir%/ud_test.cpp %reldir%/ud_side.hpp $(dat_test_headers)
test_api_ud_test_LDADD = $(dat_test_libs)
test_api_ud_scm_test_SOURCES = %reldir%/ud_test.cpp %reldir%/ud_side.hpp $(dat_test_headers)
test_api_ud_scm_test_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_OVER_SOCKETS
test_api_ud_scm_test_LDADD = libtestmain.la .libs/libsoftverbs.so libdat2.la
test_api_ud_scm_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
test_api_ud_scm_test_DEPENDENCIES = libtestmain.la libsoftverbs.la libdat2.la libdaploscm.la

# The cost of a connection does not grow with the number of connections.
LONG_TESTS += test/api/scale.bats
EXTRA_DIST += %reldir%/scale.bats
check_DATA += test/bench/connections

# Names the libraries just built, whatever is installed.
check_DATA += %reldir%/dat.conf
CLEANFILES += %reldir%/dat.conf
%reldir%/dat.conf: Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && for ia in 'soft0:soft0 1' 'soft0-by-interface:lo 0' 'soft0-by-address:127.0.0.1' \
	    'no-such-device:nonesuch0 1' 'no-such-address:192.0.2.1 1'; do \
	    printf '%s u2.0 nonthreadsafe default %s dapl.2.0 "%s" ""\n' \
	        "$${ia%%:*}" '$(abs_top_builddir)/.libs/libdaplsoft.so.2' "$${ia#*:}"; \
	done >$@ && \
	printf '%s u2.0 nonthreadsafe default %s dapl.2.0 "%s" ""\n' \
	    scm0 '$(abs_top_builddir)/.libs/libdaploscm.so.2' 'soft0 1' \
	    ucm0 '$(abs_top_builddir)/.libs/libdaploucm.so.2' 'soft0 1' \
	    cma0 '$(abs_top_builddir)/.libs/libdaplofa.so.2' 127.0.0.1 >>$@

# Checks under which locks the libraries allocate. -rpath makes libtool build a shared library.
TESTS += test/api/locks.bats test/api/registration_cache.bats
EXTRA_DIST += test/api/locks.bats test/api/registration_cache.bats
check_LTLIBRARIES += test/support/lock_watch.la
test_support_lock_watch_la_SOURCES = test/support/lock_watch.cpp test/support/malloc_hooks.hpp
test_support_lock_watch_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nonexistent
check_LTLIBRARIES += test/support/registration_cache.la
test_support_registration_cache_la_SOURCES = test/support/registration_cache.cpp test/support/registration_cache.hpp \
    test/support/malloc_hooks.hpp
test_support_registration_cache_la_CXXFLAGS = $(AM_CXXFLAGS)  # objects of its own
test_support_registration_cache_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nonexistent

# Checks what tools find of the trace in the libraries' files.
TESTS += test/api/trace.bats
EXTRA_DIST += %reldir%/trace.bats

TESTS += test/api/configuration.bats
EXTRA_DIST += test/api/configuration.bats

# The tests of the API with the registration broker.
TESTS += test/api/registrations.bats
EXTRA_DIST += test/api/registrations.bats
