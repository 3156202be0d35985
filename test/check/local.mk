# SPDX-License-Identifier: BSD-2-Clause
# The checks of programs.
check_PROGRAMS += test/check/program test/check/verbs_program
TESTS += test/check/checks.bats test/check/verbs.bats test/check/foreign.bats
EXTRA_DIST += %reldir%/checks.bats %reldir%/verbs.bats %reldir%/foreign.bats
test_check_program_SOURCES = %reldir%/program.c %reldir%/program.h %reldir%/faults.c %reldir%/faults.h
test_check_program_LDADD = libdat2.la
test_check_verbs_program_SOURCES = %reldir%/verbs_program.c %reldir%/verbs_program.h %reldir%/verbs_faults.c
test_check_verbs_program_LDADD = $(IBVERBS_LIBS)
