# SPDX-License-Identifier: BSD-2-Clause
# The public names of libibverbs and librdmacm that the device does not have. Only libsoftverbs.so
# exports them.
noinst_LTLIBRARIES += libsoftverbs_remaining.la
libsoftverbs_remaining_la_SOURCES = \
    %reldir%/export.hpp \
    %reldir%/rates.cpp \
    %reldir%/unlisted.cpp \
    %reldir%/unsupported.cpp %reldir%/unsupported.def

# libsoftverbs.so: the softverbs core for LD_PRELOAD, in front of libibverbs and librdmacm.
lib_LTLIBRARIES += libsoftverbs.la
EXTRA_DIST += %reldir%/libsoftverbs.map
libsoftverbs_la_SOURCES =
libsoftverbs_la_LIBADD = libsoftverbs_sysfs.la providers/soft/softverbs/passthrough/device.lo libcheckmodel.la libsupport.la
libsoftverbs_la_DEPENDENCIES = $(libsoftverbs_la_LIBADD) %reldir%/libsoftverbs.map
# It is loaded by path and never linked with, so its file name has no version. -Bsymbolic makes it
# call its own functions, also where a process loads it beside the real libraries.
libsoftverbs_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version $(NO_UNDEFINED) -Wl,-Bsymbolic \
    -Wl,--version-script=$(top_srcdir)/%reldir%/libsoftverbs.map
