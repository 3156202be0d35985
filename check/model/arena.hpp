// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Memory of the checks, which never comes from malloc(): a program's malloc() may itself register
/// memory, and would wait for the lock that is held here.
#pragma once

#include <cstddef>

namespace check {

/// Gives out blocks from pages of its own and keeps what is given back. Not thread safe: the lock
/// of the model guards it.
class Arena {
  public:
    /// Throws std::bad_alloc.
    void* take(std::size_t bytes);
    void give_back(void* block, std::size_t bytes);

  private:
    struct Block {
        Block* next;
    };
    static constexpr int kClasses = 48;
    Block* free_[kClasses] = {};  ///< of 16 bytes << index
    char* rest_ = nullptr;
    std::size_t rest_bytes_ = 0;
};

/// For the standard containers.
template <class T>
struct Pooled {
    using value_type = T;
    explicit Pooled(Arena& from) : arena(&from) {}
    template <class Other>
    explicit(false) Pooled(const Pooled<Other>& other) : arena(other.arena) {}
    T* allocate(std::size_t count) { return static_cast<T*>(arena->take(count * sizeof(T))); }
    void deallocate(T* first, std::size_t count) { arena->give_back(first, count * sizeof(T)); }
    friend bool operator==(const Pooled& one, const Pooled& other) {
        return one.arena == other.arena;
    }
    Arena* arena;
};

/// @return zeroed pages. Throws std::bad_alloc.
void* map_pages(std::size_t bytes);

}  // namespace check
