# SPDX-License-Identifier: BSD-2-Clause
# The connection manager over rdma_cm; the same objects for hardware (libdaplofa) and softverbs (libdaplsoft).
noinst_LTLIBRARIES += libcma.la
libcma_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS) $(RDMACM_CFLAGS)
libcma_la_SOURCES = \
    %reldir%/conn_qual.hpp \
    %reldir%/connection.cpp %reldir%/connection.hpp \
    %reldir%/device.cpp %reldir%/device.hpp \
    %reldir%/event.cpp %reldir%/event.hpp \
    %reldir%/manager.cpp %reldir%/manager.hpp \
    %reldir%/private_data.hpp
