# SPDX-License-Identifier: BSD-2-Clause
# The software device's verbs and rdma_cm entry points, compiled once with default visibility: libsoftverbs
# exports them by its version script, libdaplsoft hides them by `local: *`.
noinst_LTLIBRARIES += libsoftverbs_base.la libsoftverbs_core.la
# Nobody replaces one of their functions by his own, so the compiler may inline them.
libsoftverbs_core_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=default -fno-visibility-inlines-hidden -fno-semantic-interposition
libsoftverbs_core_la_SOURCES =
libsoftverbs_core_la_LIBADD = libsoftverbs_base.la
# Fabric and connection manager: all but providers/soft/verbs.
libsoftverbs_base_la_CXXFLAGS = $(libsoftverbs_core_la_CXXFLAGS)
libsoftverbs_base_la_SOURCES =
include providers/soft/fabric/local.mk
include providers/soft/verbs/local.mk
include providers/soft/cm/local.mk
include providers/soft/export/local.mk
include providers/soft/passthrough/local.mk
include providers/soft/provider/local.mk
include providers/soft/tool/local.mk
include_HEADERS = %reldir%/softverbs.h
