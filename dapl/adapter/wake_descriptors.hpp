// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The eventfds that end waiters' sleeps. An EVD has one while somebody sleeps on it only, so that
/// their number is that of the threads that wait, not that of the EVDs.
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

    /// @return an eventfd that may be signalled already, -1 with errno when there is none. Throws
    /// std::bad_alloc.
    int borrow() EXCLUDES(mutex_);
    /// Kept open: whoever was about to end the sleep may write to it yet.
    void give_back(int descriptor) EXCLUDES(mutex_);

  private:
    support::Mutex mutex_;
    std::vector<int> idle_ GUARDED_BY(mutex_);  ///< with room for all that were made
    std::size_t made_ GUARDED_BY(mutex_) = 0;
};

}  // namespace dapl
