# SPDX-License-Identifier: BSD-2-Clause
# The public headers. Their names, values and layouts are a given ABI; the tests check them against
# test/dat/abi.tsv.
dat2includedir = $(includedir)/dat2
dat2include_HEADERS = \
    %reldir%/dat2/dat.h %reldir%/dat2/dat_error.h %reldir%/dat2/dat_extensions.h \
    %reldir%/dat2/dat_ib_extensions.h %reldir%/dat2/dat_iw_extensions.h %reldir%/dat2/dat_opendat.h \
    %reldir%/dat2/dat_platform_specific.h %reldir%/dat2/dat_redirection.h %reldir%/dat2/dat_registry.h \
    %reldir%/dat2/dat_reg_extensions.h %reldir%/dat2/dat_reg_policy.h \
    %reldir%/dat2/dat_trclvl.h %reldir%/dat2/dat_vendor_specific.h %reldir%/dat2/udat.h %reldir%/dat2/udat_config.h \
    %reldir%/dat2/udat_redirection.h %reldir%/dat2/udat_vendor_specific.h

# The C++ layer.
dat2include_HEADERS += %reldir%/dat2/dat.hpp
dat2cppincludedir = $(includedir)/dat2/dat
dat2cppinclude_HEADERS = \
    %reldir%/dat2/dat/connection.hpp %reldir%/dat2/dat/ep.hpp %reldir%/dat2/dat/evd.hpp \
    %reldir%/dat2/dat/evd_view.hpp %reldir%/dat2/dat/ia.hpp %reldir%/dat2/dat/memory.hpp \
    %reldir%/dat2/dat/owner.hpp %reldir%/dat2/dat/result.hpp

# The path under which other platforms install the headers.
datincludedir = $(includedir)/dat
datinclude_HEADERS = \
    %reldir%/dat/dat.h %reldir%/dat/dat_error.h %reldir%/dat/dat_extensions.h \
    %reldir%/dat/dat_ib_extensions.h %reldir%/dat/dat_iw_extensions.h %reldir%/dat/dat_opendat.h \
    %reldir%/dat/dat_platform_specific.h %reldir%/dat/dat_redirection.h %reldir%/dat/dat_registry.h \
    %reldir%/dat/dat_reg_extensions.h %reldir%/dat/dat_reg_policy.h \
    %reldir%/dat/dat_trclvl.h %reldir%/dat/dat_vendor_specific.h %reldir%/dat/udat.h %reldir%/dat/udat_config.h \
    %reldir%/dat/udat_redirection.h %reldir%/dat/udat_vendor_specific.h %reldir%/dat/dat.hpp

# The DAT 1.2 interface on top of DAT 2.0, for programs compiled with the flags of dat-1.2.pc.
dat12includedir = $(includedir)/dat-1.2/dat
dat12include_HEADERS = \
    %reldir%/dat-1.2/dat/dat.h %reldir%/dat-1.2/dat/dat_error.h %reldir%/dat-1.2/dat/dat_platform_specific.h \
    %reldir%/dat-1.2/dat/dat_redirection.h %reldir%/dat-1.2/dat/dat_registry.h \
    %reldir%/dat-1.2/dat/dat_vendor_specific.h %reldir%/dat-1.2/dat/udat.h %reldir%/dat-1.2/dat/udat_config.h \
    %reldir%/dat-1.2/dat/udat_redirection.h %reldir%/dat-1.2/dat/udat_vendor_specific.h

# The same as an installation prefix, for programs whose configure asks where uDAPL is installed and
# puts PREFIX/include first. It holds links to the installed files; where both versions have a
# header, the link leads to that of 1.2.
dat12prefix = $(prefix)/dat-1.2
dat12_libraries = libdat.so libdat2.so libdat2.so.2
# usage: $(call dat12_links,DIRECTORY,TARGET_DIRECTORY,NAMES)
dat12_links = cd '$(DESTDIR)$(dat12prefix)/$(1)' && \
	there=`realpath -ms --relative-to='$(DESTDIR)$(dat12prefix)/$(1)' '$(DESTDIR)$(2)'` && \
	for name in $(3); do ln -sfT "$$there/$${name\#\#*/}" "$${name\#\#*/}" || exit; done
install-data-local: install-dat-1.2-prefix
install-dat-1.2-prefix:
	$(MKDIR_P) '$(DESTDIR)$(dat12prefix)/include/dat' '$(DESTDIR)$(dat12prefix)/lib'
	@$(call dat12_links,include/dat,$(datincludedir),$(datinclude_HEADERS))
	@$(call dat12_links,include/dat,$(dat12includedir),$(dat12include_HEADERS))
	@$(call dat12_links,include,$(includedir),dat2)
	@$(call dat12_links,lib,$(libdir),$(dat12_libraries))
uninstall-local: uninstall-dat-1.2-prefix
uninstall-dat-1.2-prefix:
	@cd '$(DESTDIR)$(dat12prefix)' 2>/dev/null || exit 0; \
	for name in $(datinclude_HEADERS) $(dat12include_HEADERS); do rm -f "include/dat/$${name##*/}"; done; \
	for name in $(dat12_libraries); do rm -f "lib/$$name"; done; rm -f include/dat2; \
	rmdir include/dat include lib 2>/dev/null; cd / && rmdir '$(DESTDIR)$(dat12prefix)' 2>/dev/null || :
.PHONY: install-dat-1.2-prefix uninstall-dat-1.2-prefix
