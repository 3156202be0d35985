// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Consumer notification object: many EVDs, one place to wait. Remembers at most one trigger.
#pragma once

#include <atomic>

#include "dapl/list.hpp"
#include "dapl/object.hpp"
#include "dapl/service_thread.hpp"
#include "dapl/support/mutex.hpp"

namespace dapl {

class Evd;
class Ia;

/// Whether a trigger may call the consumer's proxy agent in the calling thread; if not, the service
/// thread does.
enum class Agent { kMayRun, kElsewhere };

class Cno final : public Object<Cno>, public ListNode<Cno>, public ServiceThread::Handler {
  public:
    static constexpr Kind kKind = Kind::kCno;
    Cno(Ia& owner, const DAT_OS_WAIT_PROXY_AGENT& first_agent) : ia(owner), agent_(first_agent) {}

    /// An event has come to this EVD. Merges with a trigger that nobody has taken. The proxy agent
    /// is called once per setting; with kMayRun no lock may be held.
    void trigger(Evd& evd, Agent agent) EXCLUDES(mutex_);
    /// @param timeout microseconds. @param old_cancel_state the caller's; cancellation is disabled
    /// but for the wait itself.
    DAT_RETURN wait(DAT_TIMEOUT timeout, int old_cancel_state, DAT_EVD_HANDLE* evd)
        EXCLUDES(mutex_);
    void set_agent(const DAT_OS_WAIT_PROXY_AGENT& agent) EXCLUDES(mutex_);
    DAT_OS_WAIT_PROXY_AGENT agent() EXCLUDES(mutex_);
    /// Counts the EVDs. The last one to go wakes the waiters, with a NULL EVD.
    void attach() EXCLUDES(mutex_);
    void detach() EXCLUDES(mutex_);
    /// Keeps the CNO from going away under a thread that is about to trigger it.
    void pin() { ++pins_; }
    void unpin() { --pins_; }
    bool in_use() EXCLUDES(mutex_);
    /// Sends the waiters away with CNO_DEAD and returns when nobody uses the CNO any more.
    void expel_waiters() EXCLUDES(mutex_);
    /// Calls the agent that a trigger has left for the service thread.
    void serve() override EXCLUDES(mutex_);

    Ia& ia;

  private:
    class Waiting;
    void call_agent() EXCLUDES(mutex_);

    support::Mutex mutex_;
    support::CondVar changed_;
    DAT_OS_WAIT_PROXY_AGENT agent_ GUARDED_BY(mutex_);
    bool triggered_ GUARDED_BY(mutex_) = false;
    bool dead_ GUARDED_BY(mutex_) = false;
    int waiters_ GUARDED_BY(mutex_) = 0;
    DAT_EVD_HANDLE trigger_ GUARDED_BY(mutex_) = nullptr;
    int evds_ GUARDED_BY(mutex_) = 0;
    std::atomic<int> pins_{0};
};

/// Ends a CNO that no EVD is attached to; its waiters are sent away.
void destroy_cno(Cno& cno);

}  // namespace dapl
