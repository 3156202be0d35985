# SPDX-License-Identifier: BSD-2-Clause
# What the registration broker is worth (doc/registration.md). Helper programs: no tests of their own.
EXTRA_PROGRAMS += test/bench/registration/registration_experiments
test_bench_registration_registration_experiments_SOURCES = \
    %reldir%/entries.cpp %reldir%/entries.hpp \
    %reldir%/experiments.hpp %reldir%/main.cpp \
    %reldir%/newcomers.cpp \
    %reldir%/policies.cpp \
    %reldir%/results.cpp %reldir%/results.hpp \
    %reldir%/shared.hpp test/support/process.hpp \
    %reldir%/waiting.cpp
test_bench_registration_registration_experiments_LDADD = libregistrations.la libsupport.la -lpthread

# R7 ends processes at the table's fault points.
EXTRA_PROGRAMS += test/bench/registration/registration_recovery
test_bench_registration_registration_recovery_SOURCES = %reldir%/recovery.cpp %reldir%/entries.cpp %reldir%/entries.hpp \
    %reldir%/results.cpp %reldir%/results.hpp %reldir%/shared.hpp test/support/process.hpp
test_bench_registration_registration_recovery_CPPFLAGS = $(AM_CPPFLAGS) -DREGISTRATION_FAULT_POINTS
test_bench_registration_registration_recovery_LDADD = libregistrations_faulty.la libsupport.la -lpthread
