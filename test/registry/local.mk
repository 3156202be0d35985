# SPDX-License-Identifier: BSD-2-Clause
check_PROGRAMS += test/registry/dat_conf_test
TESTS += test/registry/dat_conf_test
test_registry_dat_conf_test_SOURCES = %reldir%/dat_conf_test.cpp
test_registry_dat_conf_test_LDADD = libtestmain.la libregistry.la
TESTS += test/registry/providers.bats
EXTRA_DIST += %reldir%/providers.bats
