# SPDX-License-Identifier: BSD-2-Clause
# Measured beside a peer; nothing here fails because of a time. Helper programs: no tests of their own.
bench_programs = test/bench/connections test/bench/dat_operations test/bench/verbs_operations
EXTRA_PROGRAMS += $(bench_programs)
test_bench_connections_SOURCES = %reldir%/connections.cpp %reldir%/answers.hpp
test_bench_connections_LDADD = libdat2.la
test_bench_dat_operations_SOURCES = %reldir%/dat_operations.cpp %reldir%/answers.hpp
test_bench_dat_operations_LDADD = libdat2.la
test_bench_verbs_operations_SOURCES = %reldir%/verbs_operations.cpp
test_bench_verbs_operations_LDADD = $(IBVERBS_LIBS)
EXTRA_DIST += %reldir%/bench

BENCH_CONNECTIONS = 2000
bench: all $(bench_programs)
	@$(abs_top_srcdir)/%reldir%/bench '$(abs_top_builddir)' '$(BENCH_CONNECTIONS)'
.PHONY: bench
