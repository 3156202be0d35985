# SPDX-License-Identifier: BSD-2-Clause
# Programs that we did not write, on our libraries.
compat_scripts = \
    %reldir%/libsoftverbs.bats \
    %reldir%/devices.bats %reldir%/pingpong.bats %reldir%/perftest.bats %reldir%/rdmacm.bats \
    %reldir%/reference_stack.bats %reldir%/dtest.bats %reldir%/dapl_programs.bats %reldir%/combinations.bats \
    %reldir%/other_user.bats %reldir%/softverbs_run.bats
TESTS += $(compat_scripts)
EXTRA_DIST += %reldir%/helpers.bash $(compat_scripts)

check_PROGRAMS += test/compat/softverbs_functions_test
TESTS += test/compat/softverbs_functions_test
test_compat_softverbs_functions_test_SOURCES = %reldir%/softverbs_functions_test.cpp
test_compat_softverbs_functions_test_LDADD = libtestmain.la

# No test itself, as test/compat/unload below.
EXTRA_PROGRAMS += test/compat/two_adapters
check_DATA += test/compat/two_adapters
test_compat_two_adapters_SOURCES = %reldir%/two_adapters.cpp test/api/side.hpp
test_compat_two_adapters_LDADD = libdat2.la

# What our libraries look like from outside.
# No test itself: check_PROGRAMS are all run as such.
EXTRA_PROGRAMS += test/compat/unload
check_DATA += test/compat/unload
test_compat_unload_SOURCES = %reldir%/unload.c
test_compat_unload_LDADD = -ldl
TESTS += %reldir%/libraries.bats %reldir%/install.bats
EXTRA_DIST += %reldir%/libraries.bats %reldir%/install.bats %reldir%/library-facts %reldir%/golden

# What a newcomer meets first.
TESTS += %reldir%/bootstrap.bats %reldir%/readme.bats
EXTRA_DIST += %reldir%/bootstrap.bats %reldir%/readme.bats
