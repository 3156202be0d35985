// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <list>

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

/// Memory for tables, left out of core files. It is mapped in steps: with a mapping for each table,
/// mmap, madvise and munmap were a quarter of the work of opening and closing an adapter.
class TablePages {
  public:
    /// @param step bytes; what needs more gets a mapping of its own.
    explicit TablePages(std::size_t step) : step_(step) {}
    /// @return zeroed memory, aligned to a page. Throws std::bad_alloc.
    std::byte* take(std::size_t bytes);

  private:
    std::byte* map(std::size_t bytes);
    const std::size_t step_;
    std::list<OwnPages> mappings_;
    std::byte* next_ = nullptr;  ///< what is left of the last step
    std::size_t left_ = 0;
};

/// A large zero-initialised table. It is not from malloc, which would reuse the memory of a freed
/// table of that size and have to clear it.
template <class T>
class LargeTable {
  public:
    /// Throws std::bad_alloc. @param pages outlives the table.
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
    LargeTable(TablePages& pages, std::size_t count) : elements_(pages.take(count * sizeof(T))) {}
    T& operator[](std::size_t index) const { return reinterpret_cast<T*>(elements_)[index]; }

  private:
    std::byte* elements_;
};

}  // namespace softverbs
