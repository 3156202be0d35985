# SPDX-License-Identifier: BSD-2-Clause
# The checks of programs. The model is linked into each provider library and into libsoftverbs.so.
noinst_LTLIBRARIES += libcheckmodel.la
libcheckmodel_la_SOURCES = \
    %reldir%/model/arena.cpp %reldir%/model/arena.hpp \
    %reldir%/model/finding.hpp \
    %reldir%/model/finding_log.cpp %reldir%/model/finding_log.hpp \
    %reldir%/model/left_objects.cpp %reldir%/model/left_objects.hpp \
    %reldir%/model/mapping.cpp %reldir%/model/mapping.hpp \
    %reldir%/model/model.cpp %reldir%/model/model.hpp \
    %reldir%/model/needs.cpp %reldir%/model/needs.hpp \
    %reldir%/model/objects.cpp %reldir%/model/objects.hpp \
    %reldir%/model/place.cpp %reldir%/model/place.hpp \
    %reldir%/model/regions.cpp %reldir%/model/regions.hpp \
    %reldir%/model/report.cpp %reldir%/model/report.hpp \
    %reldir%/model/settings.cpp %reldir%/model/settings.hpp \
    %reldir%/model/source.cpp %reldir%/model/source.hpp \
    %reldir%/model/transfers.cpp %reldir%/model/transfers.hpp

libdaplcore_la_SOURCES += \
    %reldir%/dat/audit.cpp %reldir%/dat/audit.hpp %reldir%/dat/page_codes.def \
    %reldir%/dat/checked.cpp %reldir%/dat/checked.hpp \
    %reldir%/dat/connections.cpp \
    %reldir%/dat/entry.hpp \
    %reldir%/dat/events.cpp \
    %reldir%/dat/extension.cpp \
    %reldir%/dat/ia.cpp \
    %reldir%/dat/memory.cpp \
    %reldir%/dat/objects.cpp %reldir%/dat/objects.hpp \
    %reldir%/dat/post.cpp %reldir%/dat/post.hpp \
    %reldir%/dat/table.cpp %reldir%/dat/table.hpp
