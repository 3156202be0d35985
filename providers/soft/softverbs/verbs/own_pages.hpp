// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <new>

namespace softverbs {

/// A private anonymous mapping of its own: pages that are never touched cost no memory.
class OwnPages {
  public:
    OwnPages() = default;
    ~OwnPages();
    OwnPages(const OwnPages&) = delete;
    OwnPages& operator=(const OwnPages&) = delete;
    /// Maps zeroed pages; called once. @return 0 or ENOMEM.
    int allocate(std::size_t bytes);
    /// Like allocate(), but at an address chosen at random between 8 GiB and 64 TiB. Falls back to
    /// allocate() under ThreadSanitizer, and when no address tried is free.
    int allocate_anywhere(std::size_t bytes);
    void leave_out_of_core() const;
    std::byte* get() const { return static_cast<std::byte*>(begin_); }

  private:
    void* begin_ = nullptr;
    std::size_t bytes_ = 0;
};

/// A large zero-initialised table, left out of core files. It is not from malloc, which would reuse
/// the memory of a freed table of that size and have to clear it.
template <class T>
class LargeTable {
  public:
    /// Throws std::bad_alloc.
    explicit LargeTable(std::size_t count) {
        // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
        if (pages_.allocate(count * sizeof(T)) != 0) throw std::bad_alloc();
        pages_.leave_out_of_core();
    }
    T& operator[](std::size_t index) const { return reinterpret_cast<T*>(pages_.get())[index]; }

  private:
    OwnPages pages_;
};

}  // namespace softverbs
