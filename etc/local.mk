# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += %reldir%/bash-completion %reldir%/dat.conf
dist_doc_DATA = %reldir%/opendat.yaml

# One script for all tools: bash-completion looks for a file of the command's name.
completionsdir = $(datadir)/bash-completion/completions
completed_tools = dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace dtest dtest_ext dtestx softverbs
install-data-local: install-completions
install-completions:
	$(MKDIR_P) '$(DESTDIR)$(completionsdir)'
	$(INSTALL_DATA) '$(srcdir)/etc/bash-completion' '$(DESTDIR)$(completionsdir)/opendat'
	for tool in $(completed_tools); do $(LN_S) -f opendat '$(DESTDIR)$(completionsdir)'/$$tool || exit; done
uninstall-local: uninstall-completions
uninstall-completions:
	for tool in opendat $(completed_tools); do rm -f '$(DESTDIR)$(completionsdir)'/$$tool; done
.PHONY: install-completions uninstall-completions

# The file is the administrator's: one that is there stays as it is, and is removed only unchanged.
install-data-local: install-dat-conf
install-dat-conf:
	$(MKDIR_P) '$(DESTDIR)$(sysconfdir)'
	test -e '$(DESTDIR)$(sysconfdir)/dat.conf' || \
	  $(INSTALL_DATA) '$(srcdir)/etc/dat.conf' '$(DESTDIR)$(sysconfdir)/dat.conf'

uninstall-local: uninstall-dat-conf
uninstall-dat-conf:
	! cmp -s '$(srcdir)/etc/dat.conf' '$(DESTDIR)$(sysconfdir)/dat.conf' || \
	  rm -f '$(DESTDIR)$(sysconfdir)/dat.conf'

.PHONY: install-dat-conf uninstall-dat-conf
