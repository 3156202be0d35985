# SPDX-License-Identifier: BSD-2-Clause

# libdat2 from outside.
check_PROGRAMS += test/api/every_function_test test/api/providers_related
TESTS += test/api/every_function_test test/api/libdat2.bats
test_api_every_function_test_SOURCES = %reldir%/every_function_test.c
test_api_every_function_test_LDADD = libdat2.la
test_api_providers_related_SOURCES = %reldir%/providers_related.c
test_api_providers_related_LDADD = libdat2.la
EXTRA_DIST += %reldir%/libdat2.bats %reldir%/libdat2.symbols

# Verbs between real processes.
verbs_test_libs = libtestmain.la libsoftverbs_core.la libsupport.la
check_PROGRAMS += test/api/verbs_transfer_test
TESTS += test/api/verbs_transfer_test
test_api_verbs_transfer_test_SOURCES = %reldir%/verbs_transfer_test.cpp %reldir%/verbs_pair.hpp
test_api_verbs_transfer_test_LDADD = $(verbs_test_libs)

# The registry, with the made-up providers of test/compat/registry.
check_PROGRAMS += test/api/registry_test
TESTS += test/api/registry_test
test_api_registry_test_SOURCES = %reldir%/registry_test.cpp test/support/process.hpp
test_api_registry_test_LDADD = libtestmain.la -ldl
