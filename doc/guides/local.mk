# SPDX-License-Identifier: BSD-2-Clause
EXTRA_DIST += %reldir%/from-dapl.md %reldir%/from-libibverbs.md %reldir%/messages %reldir%/porting-an-mpi.md %reldir%/troubleshooting.md \
    %reldir%/tuning.md

# Writes dat_strerror's catalogue, and the fault rules that produce its messages, into the troubleshooting guide.
troubleshooting-document: all
	./dat_strerror --list --json >troubleshooting.json
	$(abs_top_srcdir)/%reldir%/messages troubleshooting.json $(abs_top_srcdir)/test/tools/symptoms \
	  $(abs_top_srcdir)/%reldir%/troubleshooting.md >troubleshooting.md
	mv troubleshooting.md $(abs_top_srcdir)/%reldir%/troubleshooting.md
	rm -f troubleshooting.json
.PHONY: troubleshooting-document
