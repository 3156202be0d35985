# SPDX-License-Identifier: BSD-2-Clause
# The reader of YAML files: a module that the libraries load when such a file exists
# (support/settings/yaml_module.cpp). Tools, tests and the fuzz target link the reader itself.
noinst_LTLIBRARIES += libyamlreader.la
libyamlreader_la_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CPP_CFLAGS)
libyamlreader_la_SOURCES = %reldir%/reader.cpp %reldir%/reader.hpp
libyamlreader_la_LIBADD = $(YAML_CPP_LIBS)

pkglib_LTLIBRARIES += libopendat-yaml.la
libopendat_yaml_la_SOURCES =
nodist_EXTRA_libopendat_yaml_la_SOURCES = %reldir%/none.cpp
libopendat_yaml_la_LIBADD = libyamlreader.la
libopendat_yaml_la_LDFLAGS = $(AM_LDFLAGS) $(NO_UNDEFINED) -module -avoid-version -shared \
    -Wl,--version-script=$(srcdir)/%reldir%/libopendat-yaml.map
libopendat_yaml_la_DEPENDENCIES = libyamlreader.la %reldir%/libopendat-yaml.map
EXTRA_DIST += %reldir%/libopendat-yaml.map
