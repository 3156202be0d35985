// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Objects by their numbers. All memory is there from the beginning, as pages that are touched when
/// they are needed: what is done under the adapter's locks allocates nothing and frees nothing.
#pragma once

#include <cstdint>

#include "providers/soft/softverbs/verbs/own_pages.hpp"

namespace softverbs {

/// Freed numbers wait until there are more of them than this, unless a pool says otherwise.
inline constexpr std::uint32_t kIndexRest = 64;

/// Numbers in the order in which they came, each once: a list whose links are in a table, so that
/// no more of it is touched than numbers are used. Not thread safe.
class NumberQueue {
  public:
    /// Throws std::bad_alloc. @param limit is above all numbers.
    explicit NumberQueue(std::uint32_t limit) : next_(limit) {}
    std::uint32_t size() const { return size_; }
    void push(std::uint32_t number) {
        (size_++ == 0 ? first_ : next_[last_]) = number;
        last_ = number;
    }
    /// Needs one.
    std::uint32_t pop() {
        const std::uint32_t number = first_;
        first_ = next_[number];
        --size_;
        return number;
    }

  private:
    std::uint32_t first_ = 0, last_ = 0, size_ = 0;
    LargeTable<std::uint32_t> next_;
};

/// Hands out numbers; a freed one is used again last. Not thread safe.
class NumberPool {
  public:
    /// Throws std::bad_alloc.
    /// @param rest how many freed numbers wait before the first of them is used again.
    explicit NumberPool(std::uint32_t limit, std::uint32_t rest = kIndexRest)
        : limit_(limit), rest_(rest), free_(limit) {}
    /// @return -1 when all are taken.
    std::int64_t take() {
        const bool is_used_again = free_.size() > rest_ || (free_.size() != 0 && fresh_ == limit_);
        if (is_used_again) return free_.pop();
        return fresh_ < limit_ ? std::int64_t{fresh_++} : -1;
    }
    void put(std::uint32_t number) { free_.push(number); }

  private:
    const std::uint32_t limit_, rest_;
    std::uint32_t fresh_ = 0;  ///< none from here on has been taken yet
    NumberQueue free_;
};

/// Not thread safe; who holds a lock that enter() and leave() are called with may look, whatever
/// happens to `numbers` meanwhile.
template <class T>
class ObjectTable {
  public:
    /// Throws std::bad_alloc.
    explicit ObjectTable(std::uint32_t limit) : numbers(limit), objects_(limit) {}

    NumberPool numbers;  ///< for the objects
    void enter(std::uint32_t number, T* object) {
        objects_[number] = object;
        if (number >= end_) end_ = number + 1;
    }
    void leave(std::uint32_t number) { objects_[number] = nullptr; }
    /// @return nullptr for a number, whatever it is, that no object has.
    T* find(std::uint32_t number) const { return number < end_ ? objects_[number] : nullptr; }
    template <class Visit>
    void each(const Visit& visit) const {
        for (std::uint32_t number = 0; number < end_; ++number)
            if (T* const object = objects_[number]) visit(*object);
    }

  private:
    std::uint32_t end_ = 0;  ///< none from here on has had an object
    LargeTable<T*> objects_;
};

}  // namespace softverbs
