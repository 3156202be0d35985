# SPDX-License-Identifier: BSD-2-Clause
# The connection manager over datagrams, which itself moves queue pairs through their states.
noinst_LTLIBRARIES += libucm.la
libucm_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libucm_la_SOURCES = \
    %reldir%/active.cpp %reldir%/active.hpp \
    %reldir%/address.cpp %reldir%/address.hpp \
    %reldir%/connection.cpp %reldir%/connection.hpp \
    %reldir%/destinations.cpp %reldir%/destinations.hpp \
    %reldir%/dialog.cpp %reldir%/dialog.hpp \
    %reldir%/epilogue.cpp %reldir%/epilogue.hpp \
    %reldir%/listener.cpp %reldir%/listener.hpp \
    %reldir%/manager.cpp %reldir%/manager.hpp \
    %reldir%/message.cpp %reldir%/message.hpp \
    %reldir%/pace.cpp %reldir%/pace.hpp \
    %reldir%/passive.cpp %reldir%/passive.hpp \
    %reldir%/resends.hpp \
    %reldir%/service.cpp %reldir%/service.hpp \
    %reldir%/service_queue_pair.cpp %reldir%/service_queue_pair.hpp \
    %reldir%/timing.cpp %reldir%/timing.hpp

# libdaploucm.so.2: the core over rdma-core's verbs alone. For its relation to libdat2 see
# providers/cma/local.mk.
lib_LTLIBRARIES += libdaploucm.la
EXTRA_DIST += %reldir%/libdaploucm.map
libdaploucm_la_CPPFLAGS = $(libucm_la_CPPFLAGS)
libdaploucm_la_SOURCES = %reldir%/library.cpp
libdaploucm_la_LIBADD = libucm.la libexchange.la libdaplcore.la libsupport.la $(IBVERBS_LIBS)
libdaploucm_la_DEPENDENCIES = libucm.la libexchange.la libdaplcore.la libsupport.la %reldir%/libdaploucm.map
libdaploucm_la_LDFLAGS = $(AM_LDFLAGS) -version-number 2:0:0 \
    -Wl,--version-script=$(top_srcdir)/%reldir%/libdaploucm.map
