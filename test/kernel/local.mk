# SPDX-License-Identifier: BSD-2-Clause
# Tests the providers on RDMA devices of the kernel: each file runs inside a virtual machine of its
# own (doc/testing.md). The files of kernel_short_scripts are also the short form, which takes one
# or two minutes altogether.
kernel_short_scripts = %reldir%/smoke.bats
kernel_scripts = \
    %reldir%/machine.bats %reldir%/smoke.bats %reldir%/cma.bats %reldir%/errors.bats %reldir%/examples.bats %reldir%/checks.bats %reldir%/interoperation.bats \
    %reldir%/combinations.bats %reldir%/dapl_programs.bats %reldir%/wire.bats %reldir%/two_machines.bats \
    %reldir%/two_faults.bats %reldir%/two_interoperation.bats %reldir%/conformance_rxe.tap \
    %reldir%/conformance_siw.tap %reldir%/api_rxe.tap %reldir%/api_siw.tap %reldir%/api_scm.tap %reldir%/api_ucm.tap \
    %reldir%/fidelity_rxe.tap
EXTRA_DIST += %reldir%/machine %reldir%/set-up %reldir%/guest-init %reldir%/guest %reldir%/run-bats %reldir%/remote %reldir%/helpers.bash %reldir%/survivors.bash \
    %reldir%/pairings %reldir%/devices.bash %reldir%/conformance %reldir%/api_tests \
    %reldir%/differences.rxe0 %reldir%/differences.siw0 %reldir%/fidelity.rxe0 %reldir%/skipped.rxe0 \
    %reldir%/skipped.siw0 %reldir%/skipped.scm %reldir%/skipped.ucm %reldir%/skipped.cma $(kernel_scripts)

EXTRA_PROGRAMS += test/kernel/hanging_connect
check_DATA += test/kernel/hanging_connect
test_kernel_hanging_connect_SOURCES = %reldir%/hanging_connect.cpp $(dat_test_headers)
test_kernel_hanging_connect_LDADD = $(dat_test_libs)

# KERNEL=short runs the short form.
KERNEL ?= full
# Where the processor is emulated, everything in the guest takes 10 to 20 times as long.
KERNEL_TIME_SCALE = 20
kernel_scripts_full = $(kernel_scripts)
kernel_scripts_short = $(kernel_short_scripts)
kernel_scripts_outcomes = $(outcome_scripts_kernel)
check-kernel: all $(check_LTLIBRARIES) $(check_PROGRAMS) $(check_DATA)
	@rm -f test/kernel/*.trs; status=0; reason=`$(abs_top_srcdir)/%reldir%/set-up` || status=$$?; \
	  case $$status in \
	    0) ;; \
	    77) echo "check-kernel: skipped: $$reason" ;; \
	    *) echo 'check-kernel: the machine cannot be set up'; exit 1 ;; \
	  esac; \
	  status=0; CANNOT_RUN="$$reason" $(MAKE) check-TESTS TESTS='$(kernel_scripts_$(KERNEL))' \
	    TEST_TIME_SCALE=$(KERNEL_TIME_SCALE) BATS_LOG_COMPILER='$(WATCH) $(abs_top_srcdir)/%reldir%/run-bats' \
	    TAP_LOG_COMPILER='$(WATCH) $(abs_top_srcdir)/%reldir%/run-bats' || status=$$?; \
	  { $(SUMMARY) test/kernel || test -n "$$reason"; } && exit $$status
.PHONY: check-kernel

# One side of a connection that suffers faults. It is not itself a test.
EXTRA_PROGRAMS += test/kernel/survivor
check_DATA += test/kernel/survivor
test_kernel_survivor_SOURCES = %reldir%/survivor.cpp test/support/address_file.hpp test/support/event_names.hpp
test_kernel_survivor_LDADD = libdat2.la
