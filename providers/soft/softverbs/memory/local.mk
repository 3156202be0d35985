# SPDX-License-Identifier: BSD-2-Clause
libsoftverbs_base_la_SOURCES += \
    %reldir%/copy_setting.cpp %reldir%/copy_setting.hpp \
    %reldir%/heap_memory.cpp %reldir%/heap_memory.hpp \
    %reldir%/memory_check.cpp %reldir%/memory_check.hpp \
    %reldir%/memory_map.cpp %reldir%/memory_map.hpp \
    %reldir%/page_file.cpp %reldir%/page_file.hpp \
    %reldir%/peer_pages.cpp %reldir%/peer_pages.hpp \
    %reldir%/shared_files.cpp %reldir%/shared_files.hpp \
    %reldir%/shared_heap.h \
    %reldir%/shared_pages.cpp %reldir%/shared_pages.hpp \
    %reldir%/shared_pages_fork.cpp \
    %reldir%/transfer.cpp %reldir%/transfer.hpp
