# SPDX-License-Identifier: BSD-2-Clause
# The checks of programs.
check_PROGRAMS += test/check/program
TESTS += test/check/checks.bats
EXTRA_DIST += %reldir%/checks.bats
test_check_program_SOURCES = %reldir%/program.c %reldir%/program.h %reldir%/faults.c %reldir%/faults.h
test_check_program_LDADD = libdat2.la
