# SPDX-License-Identifier: BSD-2-Clause
# Tests of the command-line tools.
check_PROGRAMS += test/tools/perf_test
TESTS += test/tools/perf_test
test_tools_perf_test_SOURCES = %reldir%/perf_test.cpp
test_tools_perf_test_LDADD = libtestmain.la libperf.la libtools.la libdat2.la

TESTS += %reldir%/dat_info.bats
EXTRA_DIST += %reldir%/dat_info.bats
TESTS += %reldir%/dat_perf.bats %reldir%/dat_trace.bats
EXTRA_DIST += %reldir%/check-schema %reldir%/dat_perf.bats %reldir%/dat_trace.bats

check_PROGRAMS += test/tools/trace_test
TESTS += test/tools/trace_test
test_tools_trace_test_SOURCES = %reldir%/trace_test.cpp test/support/process.hpp
test_tools_trace_test_LDADD = libtestmain.la libtracing.la libtools.la libsupport.la

check_PROGRAMS += test/tools/catalogue_test
TESTS += test/tools/catalogue_test %reldir%/dat_strerror.bats
EXTRA_DIST += %reldir%/dat_strerror.bats
test_tools_catalogue_test_SOURCES = %reldir%/catalogue_test.cpp
test_tools_catalogue_test_LDADD = libtestmain.la libcatalogue.la $(IBVERBS_LIBS)

check_PROGRAMS += test/tools/ping_test
TESTS += test/tools/ping_test %reldir%/dat_ping.bats
EXTRA_DIST += %reldir%/dat_ping.bats
test_tools_ping_test_SOURCES = %reldir%/ping_test.cpp
test_tools_ping_test_LDADD = libtestmain.la libping.la libtools.la libdat2.la

# The programs that dat_stat is tried on.
EXTRA_PROGRAMS += test/tools/hanging_ends
check_DATA += test/tools/hanging_ends
test_tools_hanging_ends_SOURCES = %reldir%/hanging_ends.cpp $(dat_test_headers)
test_tools_hanging_ends_LDADD = libdat2.la
EXTRA_PROGRAMS += test/tools/open_adapters
check_DATA += test/tools/open_adapters
test_tools_open_adapters_SOURCES = %reldir%/open_adapters.cpp $(dat_test_headers)
test_tools_open_adapters_LDADD = libdat2.la
EXTRA_PROGRAMS += test/tools/entry_holder
check_DATA += test/tools/entry_holder
test_tools_entry_holder_SOURCES = %reldir%/entry_holder.cpp
test_tools_entry_holder_LDADD = libregistrations.la libsupport.la
TESTS += %reldir%/dat_stat.bats
EXTRA_DIST += %reldir%/dat_stat.bats
check_PROGRAMS += test/tools/stat_test
TESTS += test/tools/stat_test
test_tools_stat_test_SOURCES = %reldir%/stat_test.cpp
test_tools_stat_test_LDADD = libtestmain.la libstat.la libregistrations.la libtools.la libsupport.la

TESTS += %reldir%/ci_examples.bats %reldir%/completion.bats %reldir%/examples.bats %reldir%/pages.bats %reldir%/vocabulary.bats
EXTRA_DIST += %reldir%/broken-words %reldir%/ci_examples.bats %reldir%/completion.bats %reldir%/examples.bash %reldir%/examples.bats %reldir%/guides.bats %reldir%/pages.bats %reldir%/quickstart.bats %reldir%/transcript %reldir%/vocabulary.bats

# Runs the commands of the page again, and writes what they print into it.
quickstart-document: all
	TOP_BUILDDIR='$(abs_top_builddir)' $(abs_top_srcdir)/%reldir%/transcript $(abs_top_srcdir)/doc/quickstart.md
.PHONY: quickstart-document

TESTS += %reldir%/symptoms.bats
EXTRA_DIST += %reldir%/symptoms %reldir%/symptoms.bats

TESTS += %reldir%/dat_conf.bats
EXTRA_DIST += %reldir%/dat_conf.bats
check_PROGRAMS += test/tools/doctor_test
TESTS += test/tools/doctor_test %reldir%/dat_doctor.bats
EXTRA_DIST += %reldir%/dat_doctor.bats
test_tools_doctor_test_SOURCES = %reldir%/doctor_test.cpp
test_tools_doctor_test_LDADD = libtestmain.la libdoctor.la $(libinfo_programs)

# Tests dat_regd inside processes of the test.
check_PROGRAMS += test/tools/regd_test
TESTS += test/tools/regd_test
test_tools_regd_test_SOURCES = %reldir%/regd_test.cpp test/broker/registration_fixture.hpp test/support/process.hpp
test_tools_regd_test_LDADD = libtestmain.la libregd.la libregistrations.la libtools.la libsupport.la libdat2.la
EXTRA_PROGRAMS += test/tools/regd_client
check_DATA += test/tools/regd_client
test_tools_regd_client_SOURCES = %reldir%/regd_client.cpp
test_tools_regd_client_LDADD = libregistrations.la libsupport.la
TESTS += %reldir%/dat_regd.bats
EXTRA_DIST += %reldir%/dat_regd.bats

check_PROGRAMS += test/tools/tool_test
TESTS += test/tools/tool_test
test_tools_tool_test_SOURCES = %reldir%/tool_test.cpp test/softverbs/fabric_fixture.hpp test/support/process.hpp
test_tools_tool_test_LDADD = libtestmain.la libsoftverbs_tool.la libtools.la libsoftverbs_core.la libsupport.la

check_PROGRAMS += test/tools/explore_test
TESTS += test/tools/explore_test %reldir%/explore.bats
EXTRA_DIST += %reldir%/explore.bats
test_tools_explore_test_SOURCES = %reldir%/explore_test.cpp
test_tools_explore_test_LDADD = libtestmain.la libexplore.la libtools.la libsoftverbs_core.la libsupport.la
# The program with mistakes that it is tried on.
EXTRA_PROGRAMS += test/tools/fragile
check_DATA += test/tools/fragile
test_tools_fragile_SOURCES = %reldir%/fragile.c
test_tools_fragile_LDADD = $(IBVERBS_LIBS)
