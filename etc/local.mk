# SPDX-License-Identifier: BSD-2-Clause
completion_scripts = %reldir%/completion/opendat.bash %reldir%/completion/opendat.zsh %reldir%/completion/opendat.fish
EXTRA_DIST += $(completion_scripts) %reldir%/loader-cache %reldir%/dat.conf
dist_doc_DATA = %reldir%/opendat.yaml
suppressionsdir = $(pkgdatadir)/suppressions
dist_suppressions_DATA = %reldir%/suppressions/tsan.supp %reldir%/suppressions/valgrind.supp

# One script serves all tools. bash-completion and fish look for a file with the command's name,
# hence the links. The scripts for zsh and fish ask bash's.
completionsdir = $(datadir)/bash-completion/completions
zshcompletionsdir = $(datadir)/zsh/site-functions
fishcompletionsdir = $(datadir)/fish/vendor_completions.d
completed_tools = dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace dtest dtest_ext dtestx softverbs
install-data-local: install-completions
install-completions: $(completion_scripts)
	$(MKDIR_P) '$(DESTDIR)$(completionsdir)' '$(DESTDIR)$(zshcompletionsdir)' '$(DESTDIR)$(fishcompletionsdir)'
	$(INSTALL_DATA) '$(srcdir)/etc/completion/opendat.bash' '$(DESTDIR)$(completionsdir)/opendat'
	sed 's|[@]completionsdir[@]|$(completionsdir)|' '$(srcdir)/etc/completion/opendat.zsh' >'$(DESTDIR)$(zshcompletionsdir)/_opendat'
	sed 's|[@]completionsdir[@]|$(completionsdir)|' '$(srcdir)/etc/completion/opendat.fish' >'$(DESTDIR)$(fishcompletionsdir)/opendat.fish'
	for tool in $(completed_tools); do \
	  $(LN_S) -f opendat '$(DESTDIR)$(completionsdir)'/$$tool && \
	  $(LN_S) -f opendat.fish '$(DESTDIR)$(fishcompletionsdir)'/$$tool.fish || exit; done
uninstall-local: uninstall-completions
uninstall-completions:
	for tool in opendat $(completed_tools); do \
	  rm -f '$(DESTDIR)$(completionsdir)'/$$tool '$(DESTDIR)$(fishcompletionsdir)'/$$tool.fish; done
	rm -f '$(DESTDIR)$(zshcompletionsdir)/_opendat'
.PHONY: install-completions uninstall-completions

# The file belongs to the administrator: an existing one stays as it is, and uninstall removes it
# only if it is unchanged.
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
