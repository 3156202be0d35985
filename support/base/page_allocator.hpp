// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory for code that must not call malloc() or free(): code that runs under a lock which
/// registering memory takes. A program's malloc() and free() may be those of a registration cache,
/// which registers and deregisters memory in turn.
#pragma once

#include <cstddef>
#include <vector>

namespace support {

/// @return at least so many bytes, whole pages, aligned to one. Throws std::bad_alloc.
void* take_pages(std::size_t bytes);
/// Keeps the pages for the next call of take_pages(). @param bytes as they were asked for.
void give_pages_back(void* pages, std::size_t bytes);

template <class T>
struct PageAllocator {
    using value_type = T;
    PageAllocator() = default;
    template <class Other>
    explicit PageAllocator(const PageAllocator<Other>&) {}
    T* allocate(std::size_t count) { return static_cast<T*>(take_pages(count * sizeof(T))); }
    void deallocate(T* first, std::size_t count) { give_pages_back(first, count * sizeof(T)); }
    friend bool operator==(const PageAllocator&, const PageAllocator&) { return true; }
};

/// A vector that does not call malloc() or free().
template <class T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace support
