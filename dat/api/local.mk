# SPDX-License-Identifier: BSD-2-Clause
# libdat2: a thin function over the registry for each DAT call. libdat2.map decides which names are
# exported, so the objects are compiled with default visibility.
noinst_LTLIBRARIES += libdatapi.la
libdatapi_la_SOURCES = \
    %reldir%/dispatch.hpp %reldir%/extension.hpp %reldir%/guard.hpp \
    %reldir%/cno.cpp %reldir%/cr.cpp %reldir%/csp.cpp %reldir%/ep.cpp %reldir%/evd.cpp \
    %reldir%/extension.cpp %reldir%/handle.cpp %reldir%/ia.cpp %reldir%/ia_open.cpp %reldir%/lmr.cpp \
    %reldir%/no_provider.cpp %reldir%/providers_related.cpp %reldir%/psp.cpp %reldir%/pz.cpp %reldir%/registry.cpp \
    %reldir%/rmr.cpp %reldir%/rsp.cpp %reldir%/srq.cpp %reldir%/strerror.cpp %reldir%/transfer.cpp \
    %reldir%/trclvl.cpp
libdatapi_la_CXXFLAGS = $(PROJECT_FLAGS) $(SANITIZER_FLAGS) -fvisibility-inlines-hidden
libdatapi_la_LIBADD = libregistry.la

lib_LTLIBRARIES += libdat2.la
libdat2_la_SOURCES =
nodist_EXTRA_libdat2_la_SOURCES = %reldir%/linked_as.cpp
libdat2_la_LIBADD = libdatapi.la
libdat2_la_LDFLAGS = $(AM_LDFLAGS) $(NO_UNDEFINED) -version-info 2:0:0 \
    -Wl,--version-script=$(srcdir)/%reldir%/libdat2.map
libdat2_la_DEPENDENCIES = libdatapi.la %reldir%/libdat2.map
EXTRA_DIST += %reldir%/libdat2.map
pkgconfig_DATA += %reldir%/dat2.pc %reldir%/dat.pc %reldir%/dat-1.2.pc

# Programs link with -ldat2 or, as older ones do, with -ldat.
install-exec-hook:
	cd '$(DESTDIR)$(libdir)' && rm -f libdat.so && $(LN_S) libdat2.so.2 libdat.so
	@test -n '$(DESTDIR)' || sh '$(srcdir)/etc/loader-cache' '$(libdir)'

uninstall-hook:
	rm -f '$(DESTDIR)$(libdir)/libdat.so'
