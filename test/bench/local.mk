# SPDX-License-Identifier: BSD-2-Clause
# Measurements beside a peer. Nothing here fails because of a time. The helper programs are not
# tests.
bench_programs = test/bench/connections test/bench/dat_operations test/bench/floors test/bench/mesh test/bench/opens test/bench/rdma_connections \
    test/bench/trace_points test/bench/verbs_operations test/bench/verbs_perf
EXTRA_PROGRAMS += $(bench_programs)
test_bench_connections_SOURCES = %reldir%/connections.cpp test/support/address_file.hpp %reldir%/connection_sequence.hpp %reldir%/answers.hpp %reldir%/memory_in_use.hpp %reldir%/processes.hpp
test_bench_connections_LDADD = libdat2.la
test_bench_dat_operations_SOURCES = %reldir%/dat_operations.cpp %reldir%/answers.hpp
test_bench_dat_operations_LDADD = libdat2.la
test_bench_floors_SOURCES = %reldir%/floors.cpp
test_bench_floors_LDADD = -lpthread
test_bench_mesh_SOURCES = %reldir%/mesh.cpp %reldir%/answers.hpp %reldir%/memory_in_use.hpp
test_bench_mesh_LDADD = libdat2.la -lpthread
test_bench_opens_SOURCES = %reldir%/opens.cpp %reldir%/answers.hpp
test_bench_opens_LDADD = libdat2.la
test_bench_rdma_connections_SOURCES = %reldir%/rdma_connections.cpp %reldir%/connection_sequence.hpp %reldir%/processes.hpp
test_bench_rdma_connections_LDADD = $(RDMACM_LIBS) $(IBVERBS_LIBS)
test_bench_trace_points_SOURCES = %reldir%/trace_points.cpp
test_bench_trace_points_LDADD = libsupport.la
test_bench_verbs_operations_SOURCES = %reldir%/verbs_operations.cpp
test_bench_verbs_operations_LDADD = $(IBVERBS_LIBS)
test_bench_verbs_perf_SOURCES = %reldir%/verbs_perf.cpp %reldir%/processes.hpp
test_bench_verbs_perf_LDADD = libperf.la $(IBVERBS_LIBS)

check_DATA += test/bench/verbs_perf test/bench/floors
TESTS += %reldir%/containers.bats %reldir%/curves.bats %reldir%/scale.bats %reldir%/table.bats %reldir%/table_kernel.bats
EXTRA_DIST += %reldir%/bench %reldir%/compare %reldir%/containers.py %reldir%/containers.bats %reldir%/curves %reldir%/curves.bats %reldir%/panels.py %reldir%/processes %reldir%/runner.py %reldir%/scale %reldir%/scale.bats %reldir%/states.py %reldir%/sweeps.py %reldir%/table %reldir%/table.bash %reldir%/table.bats %reldir%/tables.py \
    %reldir%/bench_kernel %reldir%/compare_kernel %reldir%/table_kernel %reldir%/table_kernel.bats

# BENCH=short makes one short run of each measurement, to check that all of it works. The table is
# in bench/ afterwards.
BENCH = full
BENCH_CONNECTIONS = 2000
bench: all $(bench_programs)
	@$(abs_top_srcdir)/%reldir%/bench '$(abs_top_builddir)' '$(BENCH_CONNECTIONS)' '$(BENCH)'

# Also writes the table into doc/performance.md, and puts the curves of doc/guides/tuning.md beside
# it.
bench-document: bench
	$(abs_top_srcdir)/%reldir%/table --document bench/table.json $(abs_top_srcdir)/doc/performance.md
	$(abs_top_srcdir)/%reldir%/processes --document bench/measurements $(abs_top_srcdir)/doc/performance.md
	$(MKDIR_P) $(abs_top_srcdir)/doc/performance
	cp bench/*.svg bench/curves.csv $(abs_top_srcdir)/doc/performance
	$(abs_top_srcdir)/%reldir%/scale bench/curves.csv $(abs_top_srcdir)/doc/scale
	$(abs_top_srcdir)/%reldir%/scale --document bench/curves.csv $(abs_top_srcdir)/doc/scale.md

# The same on a device of the kernel, in a virtual machine; the table is in bench-kernel/.
bench-kernel: all $(bench_programs)
	@$(abs_top_srcdir)/%reldir%/bench_kernel '$(abs_top_builddir)' '$(BENCH)'
bench-kernel-document: bench-kernel
	$(abs_top_srcdir)/%reldir%/table_kernel --document bench-kernel/table.json $(abs_top_srcdir)/doc/performance.md
.PHONY: bench bench-document bench-kernel bench-kernel-document
