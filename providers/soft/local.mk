# SPDX-License-Identifier: BSD-2-Clause
# The software device's verbs and rdma_cm entry points, compiled once with default visibility.
# libsoftverbs exports them through its version script; libdaplsoft hides them by `local: *`.
noinst_LTLIBRARIES += libsoftverbs_base.la libsoftverbs_core.la
# Nobody interposes one of these functions, so the compiler may inline them.
libsoftverbs_core_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=default -fno-visibility-inlines-hidden -fno-semantic-interposition
libsoftverbs_core_la_SOURCES =
libsoftverbs_core_la_LIBADD = libsoftverbs_base.la
# The base holds what has no fault points: the fabric, the connection manager and a part of the verbs.
libsoftverbs_base_la_CPPFLAGS = $(AM_CPPFLAGS) -DNO_FAULT_POINTS
libsoftverbs_base_la_CXXFLAGS = $(libsoftverbs_core_la_CXXFLAGS)
libsoftverbs_base_la_SOURCES =
include providers/soft/softverbs/faults/local.mk
include providers/soft/softverbs/fabric/local.mk
include providers/soft/softverbs/arena/local.mk
include providers/soft/softverbs/memory/local.mk
include providers/soft/softverbs/verbs/local.mk
include providers/soft/softverbs/cm/local.mk
include providers/soft/softverbs/export/local.mk
include providers/soft/softverbs/passthrough/local.mk
include providers/soft/softverbs/sysfs/local.mk
include providers/soft/local-provider.mk
include providers/soft/softverbs/heap/local.mk
include tools/softverbs/local.mk
include_HEADERS = %reldir%/softverbs/softverbs.h
