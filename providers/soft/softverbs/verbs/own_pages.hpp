// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <new>

namespace softverbs {

/// Pages of their own, so that those never touched cost nothing.
class OwnPages {
  public:
    OwnPages() = default;
    ~OwnPages();
    OwnPages(const OwnPages&) = delete;
    OwnPages& operator=(const OwnPages&) = delete;
    /// Once. @return 0 or ENOMEM.
    int allocate(std::size_t bytes);
    /// The same, at an address that is chosen at random among all that a process can have.
    int allocate_anywhere(std::size_t bytes);
    void leave_out_of_core() const;
    std::byte* get() const { return static_cast<std::byte*>(begin_); }

  private:
    void* begin_ = nullptr;
    std::size_t bytes_ = 0;
};

/// A large table of zeros. Not from malloc, which reuses and clears memory once it has freed a
/// table of that size. Core files leave it out.
template <class T>
class LargeTable {
  public:
    /// Throws std::bad_alloc.
    explicit LargeTable(std::size_t count) {
        if (pages_.allocate(count * sizeof(T)) != 0) throw std::bad_alloc();
        pages_.leave_out_of_core();
    }
    T& operator[](std::size_t index) const { return reinterpret_cast<T*>(pages_.get())[index]; }

  private:
    OwnPages pages_;
};

}  // namespace softverbs
