# SPDX-License-Identifier: BSD-2-Clause
# The connection manager over TCP sockets, which itself moves queue pairs through their states.
noinst_LTLIBRARIES += libscm.la
libscm_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libscm_la_SOURCES = \
    %reldir%/address.cpp %reldir%/address.hpp \
    %reldir%/dialled.cpp %reldir%/dialled.hpp \
    %reldir%/listener.cpp %reldir%/listener.hpp \
    %reldir%/manager.cpp %reldir%/manager.hpp

# libdaploscm.so.2: the core over rdma-core's verbs alone. For its relation to libdat2 see
# providers/cma/local.mk.
lib_LTLIBRARIES += libdaploscm.la
EXTRA_DIST += %reldir%/libdaploscm.map
libdaploscm_la_CPPFLAGS = $(libscm_la_CPPFLAGS)
libdaploscm_la_SOURCES = %reldir%/library.cpp
libdaploscm_la_LIBADD = libscm.la libsockets.la libexchange.la libdaplcore.la libsupport.la $(IBVERBS_LIBS)
libdaploscm_la_DEPENDENCIES = libscm.la libsockets.la libexchange.la libdaplcore.la libsupport.la %reldir%/libdaploscm.map
libdaploscm_la_LDFLAGS = $(AM_LDFLAGS) -version-number 2:0:0 \
    -Wl,--version-script=$(top_srcdir)/%reldir%/libdaploscm.map
