# SPDX-License-Identifier: BSD-2-Clause
# Every test program and script speaks TAP, so that `make check` lists each test by its name.
check_LTLIBRARIES += libtestmain.la
libtestmain_la_SOURCES = %reldir%/support/tap_main.cpp %reldir%/support/quiet_fork.cpp %reldir%/support/quiet_fork.hpp
libtestmain_la_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
libtestmain_la_LIBADD = $(GTEST_LIBS)

EXTRA_DIST += %reldir%/cross/set-up %reldir%/support/again %reldir%/support/failures %reldir%/support/loaded %reldir%/support/outcomes %reldir%/support/slowest \
    %reldir%/support/summary %reldir%/support/precompiled.hpp %reldir%/support/tidy %reldir%/support/install.bash %reldir%/support/time.bash %reldir%/support/watch

# The tests whose outcomes are in doc/compatibility.md; interoperation-document runs them and writes
# the outcomes there.
outcome_scripts_here = test/compat/interoperation.bats test/compat/combinations.bats
outcome_scripts_kernel = test/kernel/interoperation.bats test/kernel/combinations.bats test/kernel/dapl_programs.bats
OUTCOMES = $(abs_top_srcdir)/%reldir%/support/outcomes
write_outcomes = cd $(abs_top_srcdir) && $(OUTCOMES) write doc/compatibility.md $(abs_top_builddir) \
	  $(outcome_scripts_here) $(outcome_scripts_kernel)
interoperation-document: all
	$(MAKE) check-am check_PROGRAMS= TESTS='$(outcome_scripts_here)' || true
	$(MAKE) check-kernel KERNEL=outcomes check_PROGRAMS= || true
	$(write_outcomes)

# Makes all documents that need neither a benchmark nor a virtual machine. What has been measured in
# one stays as it is.
documents: quickstart-document troubleshooting-document
	$(MAKE) check-am check_PROGRAMS= TESTS='$(all_compat_scripts)' || true
	$(write_outcomes)
	$(write_compatibility)
	$(abs_top_srcdir)/%reldir%/bench/curves $(abs_top_srcdir)/doc/performance
# Checks whether the documents are as they would be made. These tests come first, because documents
# are what a change forgets.
document_tests = %reldir%/support/outcomes.bats %reldir%/tools/guides.bats %reldir%/tools/quickstart.bats %reldir%/compat/compatibility.bats \
    %reldir%/packages/release.bats
check-documents: all
	$(MAKE) check-am check_PROGRAMS= TESTS='$(document_tests)'
.PHONY: interoperation-document documents check-documents
# These wait longer than any other, so they begin before them.
TESTS += test/api/failing_calls_test test/api/stopped_peer_test
TESTS += $(document_tests) %reldir%/support/layers.bats %reldir%/support/watch.bats
EXTRA_DIST += %reldir%/support/outcomes.bats %reldir%/support/watch.bats %reldir%/support/layers.bats %reldir%/support/layers %reldir%/support/cycles

TEST_EXTENSIONS = .bats .tap
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(TAP_DRIVER)
BATS_LOG_DRIVER = $(TAP_DRIVER)
TAP_LOG_DRIVER = $(TAP_DRIVER)
# Each test runs under the watchdog, which knows how long a script may take; bats itself ends a
# single test that takes longer.
WATCH = $(top_srcdir)/%reldir%/support/watch
LOG_COMPILER = $(WATCH)
TAP_LOG_COMPILER = $(WATCH)
BATS_LOG_COMPILER = $(WATCH) $(BATS)
AM_BATS_LOG_FLAGS = --tap
# The counts of stress tests, and the times after which a test counts as hanging, are multiplied by
# these.
TEST_SCALE ?= 1
TEST_TIME_SCALE ?= 1
# These test the machine's own addresses or fetch what they need, so they run in the machine's
# network.
host_network = test/softverbs/cm_test test/api/addresses_test test/kernel/* test/packages/*
AM_TESTS_ENVIRONMENT = \
    HOST_NETWORK='$(host_network)'; export HOST_NETWORK; \
    TOP_BUILDDIR='$(abs_top_builddir)'; TOP_SRCDIR='$(abs_top_srcdir)'; TEST_SCALE='$(TEST_SCALE)'; \
    TEST_TIME_SCALE='$(TEST_TIME_SCALE)'; export TEST_TIME_SCALE; \
    XDG_CONFIG_HOME='$(abs_top_builddir)/test/no-configuration'; export XDG_CONFIG_HOME; \
    OUTCOME_SCRIPTS='$(outcome_scripts_here) $(outcome_scripts_kernel)'; export OUTCOME_SCRIPTS; \
    COMPAT_SCRIPTS='$(all_compat_scripts)'; export COMPAT_SCRIPTS; \
    CC='$(CC)'; CXX='$(CXX)'; AWK='$(AWK)'; NM='$(NM)'; export TOP_BUILDDIR TOP_SRCDIR TEST_SCALE CC CXX AWK NM;

test_of_core_parts = libtestmain.la libdaplcore.la libsupport.la $(IBVERBS_LIBS)
without_libdat2 = test/support/without_libdat2.cpp
include test/support/local.mk
include test/dat/local.mk
include test/registry/local.mk
include test/device/local.mk
include test/dapl/local.mk
include test/broker/local.mk
include test/check/local.mk
include test/cma/local.mk
include test/scm/local.mk
include test/sockets/local.mk
include test/ucm/local.mk
include test/softverbs/local.mk
include test/api/local.mk
include test/api/conformance/local.mk
include test/dtest/local.mk
include test/dtest_ext/local.mk
include test/tools/local.mk
include test/compat/local.mk
include test/compat/registry/local.mk
include test/fuzz/local.mk
include test/bench/local.mk
include test/bench/registration/local.mk
include test/kernel/local.mk
include test/packages/local.mk
include test/programs.mk
