# SPDX-License-Identifier: BSD-2-Clause
# The ABI table becomes source that checks it while it is compiled.
check_PROGRAMS += test/dat/abi_test test/dat/api_test
TESTS += test/dat/abi_test test/dat/api_test test/dat/headers.bats test/dat/dat_1_2.bats test/dat/cpp_layer.bats
test_dat_abi_test_SOURCES = %reldir%/abi_test.cpp
nodist_test_dat_abi_test_SOURCES = %reldir%/abi_c.c %reldir%/abi_cxx.cpp
test_dat_abi_test_LDADD = libtestmain.la
%reldir%/abi_c.c: %reldir%/abi.awk %reldir%/abi.tsv
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(AWK) -v language=c -f $(srcdir)/test/dat/abi.awk \
	    $(srcdir)/test/dat/abi.tsv >$@.new && mv $@.new $@
%reldir%/abi_cxx.cpp: %reldir%/abi.awk %reldir%/abi.tsv
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(AWK) -v language=cxx -f $(srcdir)/test/dat/abi.awk \
	    $(srcdir)/test/dat/abi.tsv >$@.new && mv $@.new $@
CLEANFILES += %reldir%/abi_c.c %reldir%/abi_cxx.cpp
EXTRA_DIST += %reldir%/abi.awk %reldir%/abi.tsv %reldir%/headers.bats %reldir%/dat_1_2.bats %reldir%/cpp_layer.bats %reldir%/cpp_layer_cost.cpp
test_dat_api_test_SOURCES = %reldir%/extension_test.cpp %reldir%/handle_test.cpp \
    %reldir%/recorded_calls.hpp %reldir%/recorded_calls_test.cpp %reldir%/strerror_test.cpp
test_dat_api_test_LDADD = libtestmain.la libdatapi.la
