# SPDX-License-Identifier: BSD-2-Clause
# libdat2: a thin function for each DAT call over the registry. Which names it exports is libdat2.map's
# to say, so its own objects are compiled with default visibility.
noinst_LTLIBRARIES += libdatapi.la
libdatapi_la_SOURCES = \
    %reldir%/dispatch.hpp %reldir%/guard.hpp \
    %reldir%/cno.cpp %reldir%/cr.cpp %reldir%/csp.cpp %reldir%/ep.cpp %reldir%/evd.cpp \
    %reldir%/handle.cpp %reldir%/ia.cpp %reldir%/ia_open.cpp %reldir%/lmr.cpp \
    %reldir%/psp.cpp %reldir%/pz.cpp %reldir%/registry.cpp %reldir%/rmr.cpp %reldir%/rsp.cpp %reldir%/srq.cpp \
    %reldir%/strerror.cpp %reldir%/transfer.cpp
libdatapi_la_CXXFLAGS = $(PROJECT_FLAGS) $(SANITIZER_FLAGS) -fvisibility-inlines-hidden
libdatapi_la_LIBADD = libregistry.la
