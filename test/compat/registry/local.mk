# SPDX-License-Identifier: BSD-2-Clause
# Compares our registry with the reference's. The probe is built with the tests but is not itself a
# test: check_PROGRAMS are all run as such.
EXTRA_PROGRAMS += test/compat/registry/registry_probe
check_DATA += test/compat/registry/registry_probe
test_compat_registry_registry_probe_SOURCES = %reldir%/registry_probe.cpp
test_compat_registry_registry_probe_LDADD = -ldl

check_LTLIBRARIES += \
    test/compat/registry/fake_provider.la test/compat/registry/fake_marker.la \
    test/compat/registry/fake_nofini.la test/compat/registry/fake_empty.la \
    test/compat/registry/fake_undefined.la
FAKE_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
test_compat_registry_fake_provider_la_SOURCES = %reldir%/fake_provider.c
test_compat_registry_fake_provider_la_LDFLAGS = $(FAKE_LDFLAGS)
test_compat_registry_fake_marker_la_SOURCES = %reldir%/fake_provider.c
test_compat_registry_fake_marker_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_EXPORTS_MARKER
test_compat_registry_fake_marker_la_LDFLAGS = $(FAKE_LDFLAGS)
test_compat_registry_fake_nofini_la_SOURCES = %reldir%/fake_provider.c
test_compat_registry_fake_nofini_la_CPPFLAGS = $(AM_CPPFLAGS) -Ddat_provider_fini=not_dat_provider_fini
test_compat_registry_fake_nofini_la_LDFLAGS = $(FAKE_LDFLAGS)
test_compat_registry_fake_empty_la_SOURCES = %reldir%/fake_provider.c
test_compat_registry_fake_empty_la_CPPFLAGS = $(AM_CPPFLAGS) -Ddat_provider_init=not_dat_provider_init
test_compat_registry_fake_empty_la_LDFLAGS = $(FAKE_LDFLAGS)
test_compat_registry_fake_undefined_la_SOURCES = %reldir%/fake_provider.c
test_compat_registry_fake_undefined_la_CPPFLAGS = $(AM_CPPFLAGS) -Ddat_registry_add_provider=nobody_defines_this
test_compat_registry_fake_undefined_la_LDFLAGS = $(FAKE_LDFLAGS)

TESTS += %reldir%/answers %reldir%/installed_file.bats
EXTRA_DIST += %reldir%/answers %reldir%/installed_file.bats %reldir%/differences %reldir%/corpus
