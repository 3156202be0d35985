// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// jemalloc, linked in under names of its own (jemalloc_names). The memory that it requests from
/// the kernel comes from the heap.
#pragma once

#include <cstddef>

extern "C" {
void* softverbs_je_malloc(std::size_t size);
void* softverbs_je_calloc(std::size_t count, std::size_t size);
void* softverbs_je_realloc(void* memory, std::size_t size);
void* softverbs_je_memalign(std::size_t alignment, std::size_t size);
void softverbs_je_free(void* memory);
std::size_t softverbs_je_malloc_usable_size(void* memory);
}
