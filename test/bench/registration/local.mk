# SPDX-License-Identifier: BSD-2-Clause
# Measures what the registration broker is worth (doc/registration.md). The helper programs are not
# tests.
EXTRA_PROGRAMS += test/bench/registration/registration_experiments test/bench/registration/pin_down_cache
check_DATA += test/bench/registration/registration_experiments test/bench/registration/pin_down_cache test/bench/dat_operations
test_bench_registration_pin_down_cache_SOURCES = %reldir%/pin_down_cache.c
test_bench_registration_pin_down_cache_LDADD = libdat2.la
test_bench_registration_registration_experiments_SOURCES = \
    %reldir%/calls.cpp %reldir%/classes.cpp \
    %reldir%/entries.cpp %reldir%/entries.hpp \
    %reldir%/experiments.hpp \
    %reldir%/flow.cpp %reldir%/flow.hpp \
    %reldir%/grace.cpp %reldir%/greedy.cpp \
    %reldir%/hoarder.cpp \
    %reldir%/main.cpp \
    %reldir%/liars.cpp \
    %reldir%/newcomers.cpp \
    %reldir%/peers.cpp %reldir%/policies.cpp \
    %reldir%/pool.cpp \
    %reldir%/results.cpp %reldir%/results.hpp \
    %reldir%/shared.hpp test/support/process.hpp \
    %reldir%/taken.cpp \
    %reldir%/unwilling.cpp test/api/registration_side.hpp \
    %reldir%/waiting.cpp \
    %reldir%/ways.cpp test/api/side.hpp test/support/dat_conf.hpp
test_bench_registration_registration_experiments_LDADD = libdat2.la libregistrations.la libsupport.la -lpthread

# The program of R7 ends processes at the table's fault points.
EXTRA_PROGRAMS += test/bench/registration/registration_recovery
check_DATA += test/bench/registration/registration_recovery
TESTS += %reldir%/recovery.bats %reldir%/experiments.bats
EXTRA_DIST += %reldir%/recovery.bats %reldir%/experiments.bats
test_bench_registration_registration_recovery_SOURCES = %reldir%/recovery.cpp %reldir%/entries.cpp %reldir%/entries.hpp \
    %reldir%/results.cpp %reldir%/results.hpp %reldir%/shared.hpp test/support/process.hpp
test_bench_registration_registration_recovery_CPPFLAGS = $(AM_CPPFLAGS) -DREGISTRATION_FAULT_POINTS
test_bench_registration_registration_recovery_LDADD = libregistrations_faulty.la libsupport.la -lpthread

EXTRA_DIST += %reldir%/document.py %reldir%/plots.py %reldir%/run.py %reldir%/statements.tsv
registration_programs = test/bench/registration/registration_experiments test/bench/registration/registration_recovery \
    test/bench/registration/pin_down_cache test/bench/dat_operations

# REGISTRATION_EXPERIMENTS names some of R1 to R16; all run unless some are given. `short` among
# them makes short runs, to check that all of it works.
REGISTRATION_EXPERIMENTS =
registration-experiments: all $(registration_programs)
	@PYTHONDONTWRITEBYTECODE=1 $(abs_top_srcdir)/%reldir%/run.py '$(abs_top_builddir)' '$(abs_top_builddir)/registration-results' \
	    $(REGISTRATION_EXPERIMENTS)

# Also writes claims, tables and pictures into doc/registration.md.
registration-document: registration-experiments
	$(abs_top_srcdir)/%reldir%/document.py '$(abs_top_builddir)/registration-results' $(abs_top_srcdir)/doc/registration.md
.PHONY: registration-experiments registration-document
