# SPDX-License-Identifier: BSD-2-Clause
# The connection manager over rdma_cm. The same objects serve hardware (libdaplofa) and softverbs
# (libdaplsoft).
noinst_LTLIBRARIES += libcma.la
libcma_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS) $(RDMACM_CFLAGS)
libcma_la_SOURCES = \
    %reldir%/active.cpp %reldir%/active.hpp \
    %reldir%/conn_qual.hpp \
    %reldir%/connect_thread.cpp %reldir%/connect_thread.hpp \
    %reldir%/connection.cpp %reldir%/connection.hpp \
    %reldir%/datagram_message.cpp %reldir%/datagram_message.hpp \
    %reldir%/datagrams.cpp %reldir%/datagrams.hpp \
    %reldir%/device.cpp %reldir%/device.hpp \
    %reldir%/event.cpp %reldir%/event.hpp \
    %reldir%/listener.cpp %reldir%/listener.hpp \
    %reldir%/manager.cpp %reldir%/manager.hpp \
    %reldir%/passive.cpp %reldir%/passive.hpp \
    %reldir%/private_data.hpp \
    %reldir%/queue_pair.cpp %reldir%/queue_pair.hpp

# libdaplofa.so.2: the core over rdma-core. It is not linked with libdat2: it gets the functions it
# needs from the libdat2 that loads it, ours or the reference's. test/registry/providers.bats lists
# what stays undefined.
lib_LTLIBRARIES += libdaplofa.la
EXTRA_DIST += %reldir%/libdaplofa.map
libdaplofa_la_CPPFLAGS = $(libcma_la_CPPFLAGS)
libdaplofa_la_SOURCES = %reldir%/library.cpp %reldir%/rdma_devices.cpp %reldir%/rdma_devices.hpp
libdaplofa_la_LIBADD = libcma.la libsockets.la libexchange.la libdaplcore.la libsupport.la $(RDMACM_LIBS) $(IBVERBS_LIBS)
libdaplofa_la_DEPENDENCIES = libcma.la libsockets.la libexchange.la libdaplcore.la libsupport.la %reldir%/libdaplofa.map
libdaplofa_la_LDFLAGS = $(AM_LDFLAGS) -version-number 2:0:0 \
    -Wl,--version-script=$(top_srcdir)/%reldir%/libdaplofa.map
