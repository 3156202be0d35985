// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What wakes waiters. An EVD has one only while a thread sleeps on it, so that their number is
/// that of the waiting threads, not that of the EVDs.
#pragma once

#include <semaphore.h>

#include "dapl/base/deadline.hpp"
#include "support/base/unique_fd.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

/// Ends the sleep of one thread: in poll(), by an eventfd, where it also sleeps on the completion
/// channel of a device; else by a semaphore, which takes one system call, not two.
class Waker {
  public:
    /// @param descriptor an eventfd; none for a semaphore.
    explicit Waker(support::UniqueFd descriptor);
    ~Waker();
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

    /// The next sleep, or the one that lasts, ends.
    void wake();
    int descriptor() const { return descriptor_.get(); }
    /// Makes the descriptor unreadable again.
    void clear();
    /// Sleeps on the semaphore. A cancellation point. @return 0, or -1 with errno: ETIMEDOUT, or
    /// EINTR for some signals.
    int sleep(const Deadline& deadline);

  private:
    friend class Wakers;
    const support::UniqueFd descriptor_;
    sem_t semaphore_;
    Waker* next_ = nullptr;  ///< in the list of idle ones
};

class Wakers {
  public:
    Wakers() = default;
    ~Wakers();
    Wakers(const Wakers&) = delete;
    Wakers& operator=(const Wakers&) = delete;

    /// @return one that may be signalled already; nullptr with errno if the system has no
    /// descriptor for it. Throws std::bad_alloc.
    Waker* borrow(bool with_descriptor) EXCLUDES(mutex_);
    /// Keeps it: a thread that was about to wake the sleeper may still do so.
    void give_back(Waker& waker) EXCLUDES(mutex_);

  private:
    support::Mutex mutex_;
    Waker* idle_[2] GUARDED_BY(mutex_) = {};  ///< those without a descriptor, and with one
};

}  // namespace dapl
