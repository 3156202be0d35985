# SPDX-License-Identifier: BSD-2-Clause
# libdaplsoft.so.2: the core, the connection manager over rdma_cm, and the software device in one library. The three functions of
# libdat2 stay undefined, as in libdaplofa (providers/cma/local.mk).
lib_LTLIBRARIES += libdaplsoft.la
EXTRA_DIST += %reldir%/libdaplsoft.map
libdaplsoft_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS) $(RDMACM_CFLAGS)
libdaplsoft_la_SOURCES = %reldir%/soft_devices.cpp
libdaplsoft_la_LIBADD = libcma.la libsockets.la libexchange.la libdaplcore.la libsoftverbs_core.la libsupport.la
libdaplsoft_la_DEPENDENCIES = $(libdaplsoft_la_LIBADD) %reldir%/libdaplsoft.map
libdaplsoft_la_LDFLAGS = $(AM_LDFLAGS) -version-number 2:0:0 \
    -Wl,--version-script=$(top_srcdir)/%reldir%/libdaplsoft.map
