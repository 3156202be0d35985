# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += %reldir%/dat.conf

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
