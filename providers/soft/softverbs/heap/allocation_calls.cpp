// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// malloc() and its relatives. Memory of the heap comes from jemalloc. The C library's own
/// allocator serves what the C library and the dynamic linker allocate for themselves, and
/// everything when the heap is full or has not been opened.
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "providers/soft/softverbs/heap/heap.hpp"
#include "providers/soft/softverbs/heap/jemalloc.hpp"
#include "providers/soft/softverbs/heap/start.hpp"
#include "providers/soft/softverbs/memory/page_file.hpp"

extern "C" {

// NOLINTBEGIN(readability-identifier-naming)
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
// NOLINTEND(readability-identifier-naming)

/// Huge pages cannot be pages of the page file, and a data segment (dss) would be the heap itself.
const char* softverbs_je_malloc_conf = "thp:never,dss:disabled";
}

namespace {

using softverbs::kPage;
using softverbs::heap::Heap;

bool is_of_heap(const void* memory) {
    return Heap::of_process().contains(reinterpret_cast<std::uintptr_t>(memory));
}

/// Whether memory for this caller comes from the heap.
bool serves(const void* caller) {
    return Heap::of_process().is_open() && !softverbs::heap::is_of_system(caller);
}

void* allocate(std::size_t size, const void* caller) {
    if (serves(caller)) {
        if (void* memory = softverbs_je_malloc(size)) return memory;
    }
    return __libc_malloc(size);
}

void* allocate_aligned(std::size_t alignment, std::size_t size, const void* caller) {
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return nullptr;
    }
    std::size_t power = sizeof(void*);  // the next power of two, as in the C library
    while (power < alignment) power *= 2;
    if (serves(caller)) {
        if (void* memory = softverbs_je_memalign(power, size)) return memory;
    }
    return __libc_memalign(power, size);
}

/// Moves memory out of the heap when the heap is full or the kernel refused.
void* move_out(void* memory, std::size_t size) {
    void* moved = __libc_malloc(size);
    if (!moved) return nullptr;
    const std::size_t before = softverbs_je_malloc_usable_size(memory);
    std::memcpy(moved, memory, before < size ? before : size);
    softverbs_je_free(memory);
    return moved;
}

void* reallocate(void* memory, std::size_t size, const void* caller) {
    if (!memory) return allocate(size, caller);
    if (!is_of_heap(memory)) return __libc_realloc(memory, size);
    void* const changed = softverbs_je_realloc(memory, size);
    return changed || size == 0 ? changed : move_out(memory, size);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
    return allocate(size, __builtin_return_address(0));
}

void* calloc(std::size_t count, std::size_t size) noexcept {
    if (serves(__builtin_return_address(0))) {
        if (void* memory = softverbs_je_calloc(count, size)) return memory;
    }
    return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) noexcept {
    return reallocate(memory, size, __builtin_return_address(0));
}

void* reallocarray(void* memory, std::size_t count, std::size_t size) noexcept {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    return reallocate(memory, bytes, __builtin_return_address(0));
}

void free(void* memory) noexcept {
    if (is_of_heap(memory))
        softverbs_je_free(memory);
    else
        __libc_free(memory);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
    return allocate_aligned(alignment, size, __builtin_return_address(0));
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return allocate_aligned(alignment, size, __builtin_return_address(0));
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
    if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    const int before = errno;
    void* const made = allocate_aligned(alignment, size, __builtin_return_address(0));
    errno = before;
    if (!made) return ENOMEM;
    *memory = made;
    return 0;
}

void* valloc(std::size_t size) noexcept {
    return allocate_aligned(kPage, size, __builtin_return_address(0));
}

void* pvalloc(std::size_t size) noexcept {
    if (size > SIZE_MAX - kPage) {
        errno = ENOMEM;
        return nullptr;
    }
    return allocate_aligned(kPage, (size + kPage - 1) & ~(kPage - 1), __builtin_return_address(0));
}

std::size_t malloc_usable_size(void* memory) noexcept {
    if (is_of_heap(memory)) return softverbs_je_malloc_usable_size(memory);
    return memory && softverbs::heap::started.next.usable_size
               ? softverbs::heap::started.next.usable_size(memory)
               : 0;
}
}
