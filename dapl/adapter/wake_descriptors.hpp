// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The eventfds that wake waiters. An EVD has one only while a thread sleeps on it, so that their
/// number is that of the waiting threads, not that of the EVDs.
#pragma once

#include <vector>

#include "support/thread/mutex.hpp"

namespace dapl {

class WakeDescriptors {
  public:
    WakeDescriptors() = default;
    ~WakeDescriptors();
    WakeDescriptors(const WakeDescriptors&) = delete;
    WakeDescriptors& operator=(const WakeDescriptors&) = delete;

    /// @return an eventfd, which may be signalled already, or -1 with errno. Throws std::bad_alloc.
    int borrow() EXCLUDES(mutex_);
    /// Keeps the descriptor open: a thread that was about to wake the sleeper may still write to
    /// it.
    void give_back(int descriptor) EXCLUDES(mutex_);

  private:
    support::Mutex mutex_;
    std::vector<int> idle_ GUARDED_BY(mutex_);  ///< has capacity for all that were made
    std::size_t made_ GUARDED_BY(mutex_) = 0;
};

}  // namespace dapl
