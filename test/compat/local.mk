# SPDX-License-Identifier: BSD-2-Clause
# Runs foreign programs on our libraries.
compat_scripts = \
    %reldir%/libsoftverbs.bats \
    %reldir%/devices.bats %reldir%/pingpong.bats %reldir%/perftest.bats %reldir%/rdmacm.bats \
    %reldir%/reference_stack.bats %reldir%/dtest.bats %reldir%/dapl_programs.bats %reldir%/combinations.bats \
    %reldir%/interoperation.bats %reldir%/scm_wire.bats %reldir%/ud.bats \
    %reldir%/other_user.bats %reldir%/softverbs_run.bats %reldir%/passthrough.bats %reldir%/only.bats \
    %reldir%/drop_in.bats %reldir%/device_errors.bats %reldir%/softverbs_ls.bats \
    %reldir%/containers.bats %reldir%/other_stacks.bats %reldir%/softverbs_man.bats %reldir%/pyverbs.bats \
    %reldir%/vendor_attributes.bats %reldir%/sysfs.bats %reldir%/explain.bats %reldir%/qperf.bats
if SHARED_HEAP
compat_scripts += %reldir%/shared_heap.bats
endif
TESTS += $(compat_scripts)
# More of the same, for check-long.
compat_long_scripts = %reldir%/perftest_long.bats %reldir%/qperf_long.bats %reldir%/fio.bats %reldir%/tgt.bats %reldir%/mpi.bats %reldir%/qemu.bats %reldir%/gloo.bats
LONG_TESTS += $(compat_long_scripts)
all_compat_scripts = $(compat_scripts) $(compat_long_scripts)
EXTRA_DIST += %reldir%/helpers.bash %reldir%/dapl_programs.bash %reldir%/interoperation.bash %reldir%/recorder %reldir%/recorded \
    %reldir%/pyverbs_objects.py %reldir%/perftest.bash %reldir%/qperf.bash %reldir%/mpi_ring.c %reldir%/gloo_ranks.cpp %reldir%/shared_heap.bats $(all_compat_scripts)

# A program with an allocator of its own.
EXTRA_PROGRAMS += test/compat/own_malloc
check_DATA += test/compat/own_malloc
test_compat_own_malloc_SOURCES = %reldir%/own_malloc.c
test_compat_own_malloc_CFLAGS = $(AM_CFLAGS) -fno-builtin
test_compat_own_malloc_LDADD = $(IBVERBS_LIBS)

check_PROGRAMS += test/compat/softverbs_functions_test
TESTS += test/compat/softverbs_functions_test
test_compat_softverbs_functions_test_SOURCES = %reldir%/softverbs_functions_test.cpp
test_compat_softverbs_functions_test_LDADD = libtestmain.la

# Not itself a test, like test/compat/unload below.
EXTRA_PROGRAMS += test/compat/two_adapters
check_DATA += test/compat/two_adapters
test_compat_two_adapters_SOURCES = %reldir%/two_adapters.cpp test/api/side.hpp
test_compat_two_adapters_LDADD = libdat2.la

EXTRA_PROGRAMS += test/compat/interoperation_peer
check_DATA += test/compat/interoperation_peer
test_compat_interoperation_peer_SOURCES = %reldir%/interoperation_peer.cpp test/support/address_file.hpp test/support/process.hpp
test_compat_interoperation_peer_LDADD = libdat2.la

# One end of a conversation between datagram endpoints, on our libraries or the reference's.
EXTRA_PROGRAMS += test/compat/ud_peer
check_DATA += test/compat/ud_peer
test_compat_ud_peer_SOURCES = %reldir%/ud_peer.cpp test/support/address_file.hpp test/support/process.hpp
test_compat_ud_peer_LDADD = libdat2.la

EXTRA_PROGRAMS += test/compat/open_ia
check_DATA += test/compat/open_ia
test_compat_open_ia_SOURCES = %reldir%/open_ia.c
test_compat_open_ia_LDADD = libdat2.la

EXTRA_PROGRAMS += test/compat/vendor_attributes
check_DATA += test/compat/vendor_attributes
test_compat_vendor_attributes_SOURCES = %reldir%/vendor_attributes.c
test_compat_vendor_attributes_LDADD = libdat2.la

# Reads the devices in /sys under the preload. The script compiles early_reader.c itself.
EXTRA_PROGRAMS += test/compat/sysfs_calls
check_DATA += test/compat/sysfs_calls
test_compat_sysfs_calls_SOURCES = %reldir%/sysfs_calls.cpp
test_compat_sysfs_calls_LDADD = libtestmain.la $(IBVERBS_LIBS)
EXTRA_DIST += %reldir%/early_reader.c

# Stand-ins for the system's verbs libraries, and a program that uses all devices; -rpath makes
# libtool build shared libraries.
EXTRA_LTLIBRARIES = test/compat/fake_ibverbs.la test/compat/fake_rdmacm.la
EXTRA_PROGRAMS += test/compat/both_devices test/compat/freed_lists test/compat/open_at_exit test/compat/dlopen_verbs
check_DATA += test/compat/fake_ibverbs.la test/compat/fake_rdmacm.la test/compat/both_devices \
    test/compat/freed_lists test/compat/open_at_exit test/compat/dlopen_verbs
fake_ldflags = $(AM_LDFLAGS) -module -avoid-version -rpath /nonexistent
test_compat_fake_ibverbs_la_SOURCES = %reldir%/fake_ibverbs.cpp %reldir%/fake_system.hpp
test_compat_fake_ibverbs_la_LDFLAGS = $(fake_ldflags) -Wl,--version-script=$(srcdir)/%reldir%/fake_ibverbs.map
test_compat_fake_rdmacm_la_SOURCES = %reldir%/fake_rdmacm.cpp %reldir%/fake_system.hpp
test_compat_fake_rdmacm_la_LDFLAGS = $(fake_ldflags) -Wl,--version-script=$(srcdir)/%reldir%/fake_rdmacm.map
EXTRA_DIST += %reldir%/fake_ibverbs.map %reldir%/fake_rdmacm.map
test_compat_dlopen_verbs_SOURCES = %reldir%/dlopen_verbs.c
test_compat_dlopen_verbs_LDADD = -ldl
test_compat_both_devices_SOURCES = %reldir%/both_devices.cpp
test_compat_both_devices_LDADD = $(IBVERBS_LIBS) $(RDMACM_LIBS)
test_compat_open_at_exit_SOURCES = %reldir%/open_at_exit.cpp
test_compat_open_at_exit_LDADD = $(IBVERBS_LIBS)
test_compat_freed_lists_SOURCES = %reldir%/freed_lists.cpp
test_compat_freed_lists_LDADD = $(IBVERBS_LIBS) $(RDMACM_LIBS)

# Checks how our libraries look from outside. unload is not itself a test: check_PROGRAMS are all
# run as such.
EXTRA_PROGRAMS += test/compat/unload
check_DATA += test/compat/unload
test_compat_unload_SOURCES = %reldir%/unload.c
test_compat_unload_LDADD = -ldl
TESTS += %reldir%/libraries.bats %reldir%/install.bats
EXTRA_DIST += %reldir%/libraries.bats %reldir%/install.bats %reldir%/header_path.c %reldir%/library-facts %reldir%/golden

# Programs built with sanitizers, and programs under valgrind. The script compiles sanitized.c
# itself.
TESTS += %reldir%/sanitizers.bats
EXTRA_DIST += %reldir%/sanitizers.bats %reldir%/sanitized.c

# The script compiles fabric_listener.c itself.
TESTS += %reldir%/fabric_listener.bats
EXTRA_DIST += %reldir%/fabric_listener.bats %reldir%/fabric_listener.c

# Tests what a newcomer meets first.
TESTS += %reldir%/bootstrap.bats %reldir%/readme.bats
EXTRA_DIST += %reldir%/bootstrap.bats %reldir%/readme.bats

# Writes what foreign programs ran, and the binary interface beside the reference's, into
# doc/compatibility.md. Together with the tables of interoperation-document this is all that is
# measured there.
EXTRA_DIST += %reldir%/binary_interface.py %reldir%/compatibility %reldir%/compatibility.bats
write_compatibility = cd $(abs_top_srcdir) && for part in programs symbols types; do \
	  %reldir%/compatibility write $$part doc/compatibility.md $(abs_top_builddir) $(all_compat_scripts) || exit; done
compatibility-document: interoperation-document
	$(MAKE) check-am check_PROGRAMS= TESTS='$(filter-out $(outcome_scripts_here),$(all_compat_scripts))' || true
	$(write_compatibility)
.PHONY: compatibility-document
