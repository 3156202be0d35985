# SPDX-License-Identifier: BSD-2-Clause
# The checks of programs.
check_PROGRAMS += test/check/program
TESTS += test/check/checks.bats
EXTRA_DIST += %reldir%/checks.bats
test_check_program_SOURCES = %reldir%/program.c %reldir%/program.h %reldir%/faults.c %reldir%/faults.h
test_check_program_LDADD = libdat2.la
test_check_program_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
# Its functions are visible, so that messages name them.
test_check_program_CFLAGS = $(PROJECT_FLAGS) $(SANITIZER_FLAGS)
