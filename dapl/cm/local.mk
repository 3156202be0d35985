# SPDX-License-Identifier: BSD-2-Clause
libdaplcore_la_SOURCES += \
    %reldir%/lock.cpp %reldir%/lock.hpp \
    %reldir%/manager.hpp
