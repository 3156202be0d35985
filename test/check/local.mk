# SPDX-License-Identifier: BSD-2-Clause
# The checks of programs.
# Programs for the scripts. They are not themselves tests.
EXTRA_PROGRAMS += test/check/program test/check/verbs_program
check_DATA += test/check/program test/check/verbs_program
TESTS += test/check/checks.bats test/check/verbs.bats test/check/foreign.bats
EXTRA_DIST += %reldir%/finds.bash %reldir%/checks.bats %reldir%/verbs.bats %reldir%/foreign.bats
test_check_program_SOURCES = %reldir%/program.c %reldir%/program.h %reldir%/faults.c %reldir%/faults.h
test_check_program_LDADD = libdat2.la
test_check_verbs_program_SOURCES = %reldir%/verbs_program.c %reldir%/verbs_program.h %reldir%/verbs_faults.c
test_check_verbs_program_LDADD = $(IBVERBS_LIBS)
check_PROGRAMS += test/check/audit_test
TESTS += test/check/audit_test
test_check_audit_test_SOURCES = %reldir%/audit_test.cpp $(without_libdat2)
test_check_audit_test_LDADD = $(test_of_core_parts)

# Runs the tests of the DAT calls with the provider audited (opendat_check(7)): a finding is a fault of
# ours, and so a failure.
AUDITED = $(filter test/api/%_test,$(TESTS))
audit_log = $(abs_top_builddir)/audit.jsonl
CLEANFILES += $(audit_log)
check-audit: all
	rm -f $(audit_log)
	status=0; OPENDAT_CHECK=audit OPENDAT_CHECK_LOG=$(audit_log) $(MAKE) check-am TESTS='$(AUDITED)' || status=$$?; \
	  test ! -s $(audit_log) || { cat $(audit_log); status=1; }; exit $$status

# Runs all tests, those of other programs too, with the checks of DAT and verbs programs, and compares
# what they find with test/check/explained. Whether the tests pass does not matter: many of them expect
# that nothing is printed.
findings_log = $(abs_top_builddir)/findings.jsonl
CLEANFILES += $(findings_log)
EXTRA_DIST += %reldir%/unexplained %reldir%/explained
check-findings: all
	rm -f $(findings_log)
	-OPENDAT_CHECK=on SOFTVERBS_CHECK=on OPENDAT_CHECK_LOG=$(findings_log) $(MAKE) check-am TESTS='$(filter-out test/check/%,$(TESTS))'
	$(srcdir)/test/check/unexplained $(findings_log) $(srcdir)/test/check/explained
.PHONY: check-audit check-findings
