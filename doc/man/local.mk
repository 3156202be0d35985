# SPDX-License-Identifier: BSD-2-Clause
# The manual pages; configure says so when there is no scdoc to make them with.
EXTRA_DIST += %reldir%/dat.conf.5.scd %reldir%/dat_opendat_memory_alloc.3.scd %reldir%/dat_perf.1.scd %reldir%/dat_trace.1.scd \
    %reldir%/dtest.1.scd %reldir%/dtest_ext.1.scd \
    %reldir%/softverbs.1.scd %reldir%/softverbs.7.scd
if HAVE_SCDOC
man_MANS += %reldir%/dat.conf.5 %reldir%/dat_opendat_memory_alloc.3 %reldir%/dat_perf.1 %reldir%/dat_trace.1 %reldir%/dtest.1 \
    %reldir%/dtest_ext.1 %reldir%/dtestx.1 %reldir%/softverbs.1 %reldir%/softverbs.7
CLEANFILES += %reldir%/dat.conf.5 %reldir%/dat_opendat_memory_alloc.3 %reldir%/dat_perf.1 %reldir%/dat_trace.1 %reldir%/dtest.1 \
    %reldir%/dtest_ext.1 %reldir%/dtestx.1 %reldir%/softverbs.1 %reldir%/softverbs.7
MAKE_PAGE = $(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|@sysconfdir@|$(sysconfdir)|g' $< | $(SCDOC) >$@.new && mv $@.new $@
%reldir%/dat.conf.5: %reldir%/dat.conf.5.scd Makefile
	$(MAKE_PAGE)
%reldir%/dat_opendat_memory_alloc.3: %reldir%/dat_opendat_memory_alloc.3.scd Makefile
	$(MAKE_PAGE)
%reldir%/dat_perf.1: %reldir%/dat_perf.1.scd Makefile
	$(MAKE_PAGE)
%reldir%/dat_trace.1: %reldir%/dat_trace.1.scd Makefile
	$(MAKE_PAGE)
%reldir%/dtest.1: %reldir%/dtest.1.scd Makefile
	$(MAKE_PAGE)
%reldir%/dtest_ext.1: %reldir%/dtest_ext.1.scd Makefile
	$(MAKE_PAGE)
# The program's other name.
%reldir%/dtestx.1: Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && echo '.so man1/dtest_ext.1' >$@
%reldir%/softverbs.1: %reldir%/softverbs.1.scd Makefile
	$(MAKE_PAGE)
%reldir%/softverbs.7: %reldir%/softverbs.7.scd Makefile
	$(MAKE_PAGE)
endif
