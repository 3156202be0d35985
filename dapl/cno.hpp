// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Consumer notification object: many EVDs, one place to wait. Remembers at most one trigger.
#pragma once

#include <atomic>

#include "dapl/list.hpp"
#include "dapl/object.hpp"
#include "dapl/support/mutex.hpp"

namespace dapl {

class Evd;
class Ia;

class Cno : public Object<Cno>, public ListNode<Cno> {
  public:
    static constexpr Kind kKind = Kind::kCno;
    Cno(Ia& owner, const DAT_OS_WAIT_PROXY_AGENT& first_agent) : ia(owner), agent_(first_agent) {}

    /// An event has come to this EVD (nullptr: the last EVD is gone). Merges with a trigger that
    /// nobody has taken. Calls the proxy agent, once per setting, from this thread: not to be
    /// called with a lock held.
    void trigger(Evd* evd) EXCLUDES(mutex_);
    /// @param timeout microseconds. @param old_cancel_state the caller's; cancellation is disabled
    /// but for the wait itself.
    DAT_RETURN wait(DAT_TIMEOUT timeout, int old_cancel_state, DAT_EVD_HANDLE* evd)
        EXCLUDES(mutex_);
    void set_agent(const DAT_OS_WAIT_PROXY_AGENT& agent) EXCLUDES(mutex_);
    DAT_OS_WAIT_PROXY_AGENT agent() EXCLUDES(mutex_);
    void attach() { ++evds_; }
    /// The last EVD to go wakes the waiters.
    void detach() EXCLUDES(mutex_);
    bool in_use() EXCLUDES(mutex_);
    /// Sends the waiters away with CNO_DEAD and returns when the last one has left.
    void expel_waiters() EXCLUDES(mutex_);

    Ia& ia;

  private:
    support::Mutex mutex_;
    support::CondVar changed_;
    DAT_OS_WAIT_PROXY_AGENT agent_ GUARDED_BY(mutex_);
    bool triggered_ GUARDED_BY(mutex_) = false;
    bool dead_ GUARDED_BY(mutex_) = false;
    int waiters_ GUARDED_BY(mutex_) = 0;
    DAT_EVD_HANDLE trigger_ GUARDED_BY(mutex_) = nullptr;
    std::atomic<int> evds_{0};
};

}  // namespace dapl
