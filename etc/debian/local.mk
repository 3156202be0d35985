# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages. In the distribution, the files that become debian/ are in this folder.
EXTRA_DIST += %reldir%/build %reldir%/control %reldir%/copyright %reldir%/libdat2-opendat-dev.install \
    %reldir%/libdat2-opendat.install %reldir%/libdat2-opendat.lintian-overrides %reldir%/libdat2-opendat.symbols \
    %reldir%/make-changelog %reldir%/not-installed %reldir%/opendat-doc.docs %reldir%/opendat-doc.examples \
    %reldir%/opendat-doc.install %reldir%/opendat-utils.install %reldir%/rules %reldir%/softverbs.install \
    %reldir%/softverbs.lintian-overrides %reldir%/softverbs.triggers %reldir%/source/format

# Builds the packages from the distribution, as someone who has only that would, into deb/ in the
# build directory.
deb: dist
	$(abs_top_srcdir)/%reldir%/build $(distdir).tar.xz deb
clean-local: clean-deb
clean-deb:
	rm -rf deb
.PHONY: deb clean-deb
