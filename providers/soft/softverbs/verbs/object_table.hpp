// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Tables of objects by number. All memory is mapped at construction, as pages that are touched on
/// first use, so operations under the adapter's locks neither allocate nor free.
#pragma once

#include <cstdint>

#include "providers/soft/softverbs/arena/own_pages.hpp"

namespace softverbs {

/// Default of NumberPool's `rest`.
inline constexpr std::uint32_t kIndexRest = 64;

/// A FIFO of distinct numbers: a linked list whose links are in a table, so that only the pages of
/// numbers in use are touched. Not thread safe.
class NumberQueue {
  public:
    /// Throws std::bad_alloc. @param limit greater than every number.
    NumberQueue(TablePages& pages, std::uint32_t limit) : next_(pages, limit) {}
    std::uint32_t size() const { return size_; }
    void push(std::uint32_t number) {
        (size_++ == 0 ? first_ : next_[last_]) = number;
        last_ = number;
    }
    /// Removes and returns the oldest number; the queue must not be empty.
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

/// Hands out the numbers below `limit`, and reuses freed ones late, oldest first. Not thread safe.
class NumberPool {
  public:
    /// Throws std::bad_alloc.
    /// @param rest freed numbers stay unused until there are more than this many of them, or until
    /// no fresh number is left.
    NumberPool(TablePages& pages, std::uint32_t limit, std::uint32_t rest = kIndexRest)
        : limit_(limit), rest_(rest), free_(pages, limit) {}
    /// @return a number, -1 when all are in use.
    std::int64_t take() {
        const bool is_used_again = free_.size() > rest_ || (free_.size() != 0 && fresh_ == limit_);
        if (is_used_again) return free_.pop();
        return fresh_ < limit_ ? std::int64_t{fresh_++} : -1;
    }
    void put(std::uint32_t number) { free_.push(number); }

  private:
    const std::uint32_t limit_, rest_;
    std::uint32_t fresh_ = 0;  ///< numbers from here on have never been handed out
    NumberQueue free_;
};

/// Not thread safe. find() and each() need any one of the locks under which enter() and leave() are
/// called; `numbers` may change at the same time.
template <class T>
class ObjectTable {
  public:
    /// Throws std::bad_alloc.
    ObjectTable(TablePages& pages, std::uint32_t limit)
        : numbers(pages, limit), objects_(pages, limit) {}

    NumberPool numbers;  ///< free numbers for objects
    void enter(std::uint32_t number, T* object) {
        objects_[number] = object;
        if (number >= end_) end_ = number + 1;
    }
    void leave(std::uint32_t number) { objects_[number] = nullptr; }
    /// @return nullptr when no object has that number, which may be any value.
    T* find(std::uint32_t number) const { return number < end_ ? objects_[number] : nullptr; }
    template <class Visit>
    void each(const Visit& visit) const {
        for (std::uint32_t number = 0; number < end_; ++number)
            if (T* const object = objects_[number]) visit(*object);
    }

  private:
    std::uint32_t end_ = 0;  ///< numbers from here on have never had an object
    LargeTable<T*> objects_;
};

}  // namespace softverbs
