// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ring of ready events that grows up to a limit. Not thread safe: the EVD's lock guards it.
#pragma once

#include "dapl/base/dat.hpp"

#include <memory>
#include <new>

namespace dapl {

class EventRing {
  public:
    DAT_COUNT count() const { return count_; }
    bool full() const { return count_ == capacity_; }
    DAT_COUNT capacity() const { return capacity_; }

    /// The ring must not be full.
    void push(const DAT_EVENT& event) {
        events_[(first_ + count_) & (capacity_ - 1)] = event;
        ++count_;
    }
    /// The ring must not be empty.
    void pop(DAT_EVENT& event) {
        event = events_[first_];
        first_ = (first_ + 1) & (capacity_ - 1);
        --count_;
    }

    using Storage = std::unique_ptr<DAT_EVENT[]>;
    /// @param capacity a power of two. @return empty when there is no memory.
    static Storage storage(DAT_COUNT capacity) {
        return Storage(new (std::nothrow) DAT_EVENT[capacity]);
    }
    /// Moves the events to larger storage, which is allocated before the lock is taken. @return the
    /// old storage, to be freed after the lock is released.
    Storage grow(Storage larger, DAT_COUNT capacity) {
        for (DAT_COUNT i = 0; i < count_; ++i) larger[i] = events_[(first_ + i) & (capacity_ - 1)];
        first_ = 0;
        capacity_ = capacity;
        events_.swap(larger);
        return larger;
    }

  private:
    Storage events_;
    DAT_COUNT capacity_ = 0;
    DAT_COUNT first_ = 0;
    DAT_COUNT count_ = 0;
};

}  // namespace dapl
