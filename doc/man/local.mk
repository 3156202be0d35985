# SPDX-License-Identifier: BSD-2-Clause
# The manual pages. configure warns when scdoc, which makes them, is missing.
manual_pages = \
    %reldir%/dat-1.2.7 \
    %reldir%/dat.conf.5 \
    %reldir%/dat_conf.1 \
    %reldir%/dat_doctor.1 \
    %reldir%/dat_hpp.7 \
    %reldir%/dat_info.1 \
    %reldir%/dat_perf.1 \
    %reldir%/dat_ping.1 \
    %reldir%/dat_regd.8 \
    %reldir%/dat_registration.7 \
    %reldir%/dat_stat.1 \
    %reldir%/dat_strerror.1 \
    %reldir%/dat_trace.1 \
    %reldir%/dtest.1 \
    %reldir%/dtest_ext.1 \
    %reldir%/opendat.7 \
    %reldir%/opendat_check.7 \
    %reldir%/opendat_extensions.7 \
    %reldir%/opendat_security.7 \
    %reldir%/opendat.yaml.5 \
    %reldir%/softverbs.1 \
    %reldir%/softverbs-explore.1 \
    %reldir%/softverbs-fault.5 \
    %reldir%/softverbs.7
EXTRA_DIST += $(manual_pages:=.scd) %reldir%/finish.awk
if HAVE_SCDOC
man_MANS += $(manual_pages) %reldir%/dtestx.1
CLEANFILES += $(manual_pages) %reldir%/dtestx.1
# The brackets keep config.status from substituting the placeholders.
$(manual_pages): %: %.scd %reldir%/finish.awk Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|[@]sysconfdir[@]|$(sysconfdir)|g; s|[@]pkgdatadir[@]|$(pkgdatadir)|g' $< | $(SCDOC) >$@.new && \
	  $(AWK) -f $(srcdir)/%reldir%/finish.awk $@.new >$@.finished && rm $@.new && mv $@.finished $@
# The page of dtest_ext under the program's other name.
%reldir%/dtestx.1: %reldir%/dtest_ext.1
	$(AM_V_GEN)cp %reldir%/dtest_ext.1 $@
endif

EXTRA_DIST += %reldir%/settings
if HAVE_PERL
man_MANS += %reldir%/opendat_settings.7
CLEANFILES += %reldir%/opendat_settings.7
%reldir%/opendat_settings.7: %reldir%/settings support/settings/settings.def Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(PERL) $(srcdir)/%reldir%/settings $(srcdir) $(RELEASE_DATE) >$@.new && mv $@.new $@
endif

# Section 3: a page for each call, from its comment in the headers and the table of
# doc/thread-safety.md. Only the script knows how many there are. The pages have a folder of their
# own, so that `man -M doc/man` finds them in the build directory.
EXTRA_DIST += %reldir%/calls doc/thread-safety.md
if HAVE_PERL
call_pagesdir = $(mandir)/man3
CLEANFILES += %reldir%/calls.stamp %reldir%/man3/*.3
%reldir%/calls.stamp: %reldir%/calls $(dat2include_HEADERS) doc/thread-safety.md Makefile
	$(AM_V_GEN)$(MKDIR_P) %reldir%/man3 && rm -f %reldir%/man3/*.3 && \
	  $(PERL) $(srcdir)/%reldir%/calls write $(srcdir) %reldir%/man3 $(RELEASE_DATE) && touch $@
# What audits compare with (check/dat/audit.cpp).
page-codes:
	{ sed -n '/^PAGE(/q; p' $(srcdir)/check/dat/page_codes.def && $(PERL) $(srcdir)/%reldir%/calls codes $(srcdir); } >page_codes.new
	mv page_codes.new $(srcdir)/check/dat/page_codes.def
made_call_pages = %reldir%/calls.stamp
installed_call_pages = install-call-pages
uninstalled_call_pages = uninstall-call-pages
install-call-pages: %reldir%/calls.stamp
	$(MKDIR_P) '$(DESTDIR)$(call_pagesdir)' && $(INSTALL_DATA) %reldir%/man3/*.3 '$(DESTDIR)$(call_pagesdir)'
uninstall-call-pages:
	pages=$$($(PERL) $(srcdir)/%reldir%/calls list $(srcdir)) && \
	  { test ! -d '$(DESTDIR)$(call_pagesdir)' || { cd '$(DESTDIR)$(call_pagesdir)' && rm -f $$pages; }; }
endif
all-local: $(made_call_pages)
install-data-local: $(installed_call_pages)
uninstall-local: $(uninstalled_call_pages)
.PHONY: page-codes $(installed_call_pages) $(uninstalled_call_pages)
