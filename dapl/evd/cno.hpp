// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Consumer notification object: many EVDs, one place to wait. Remembers which EVDs have triggered,
/// once each and in that order; one that is found without an event when its turn comes is passed
/// over, so that it hides no other.
#pragma once

#include <atomic>
#include <optional>

#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class Evd;
class Ia;

/// Whether a trigger may call the consumer's proxy agent in the calling thread; if not, the agent
/// thread does.
enum class Agent { kMayRun, kElsewhere };

class Cno final : public Object<Cno>, public ListNode<Cno> {
  public:
    static constexpr Kind kKind = Kind::kCno;
    /// @param descriptor an eventfd that can be read while a trigger waits, or -1; stays with the
    /// CNO. @param first_agent nothing where there is a descriptor.
    Cno(Ia& owner, const DAT_OS_WAIT_PROXY_AGENT& first_agent, DAT_FD descriptor);
    ~Cno();

    /// An event has come to this EVD. Merges with a trigger of this EVD that nobody has taken; goes
    /// to the EVD's new CNO when it has been moved meanwhile. The proxy agent is called once per
    /// setting; with kMayRun no lock may be held. Ends the caller's pin: the agent may free the
    /// CNO.
    void trigger(Evd& evd, Agent agent) EXCLUDES(mutex_);
    /// Calls the agent, if it is still set, for the last EVD that has triggered, or the first,
    /// if that one's event is gone. Ends the caller's pin.
    void call_agent() EXCLUDES(mutex_);
    /// @param timeout microseconds. @param old_cancel_state the caller's; cancellation is disabled
    /// but for the wait itself.
    DAT_RETURN wait(DAT_TIMEOUT timeout, int old_cancel_state, DAT_EVD_HANDLE* evd)
        EXCLUDES(mutex_);
    /// @return what dat_cno_modify_agent answers.
    DAT_RETURN set_agent(const DAT_OS_WAIT_PROXY_AGENT& agent) EXCLUDES(mutex_);
    void query(DAT_CNO_PARAM& parameters) EXCLUDES(mutex_);
    struct Look {
        int waiters, evds;
        bool triggered;
    };
    /// @return nothing when another thread is at work with it just now.
    std::optional<Look> look() EXCLUDES(mutex_);
    /// Counts the EVDs. The last one to go wakes the waiters, with a NULL EVD.
    void attach() EXCLUDES(mutex_);
    void detach() EXCLUDES(mutex_);
    /// The EVD, which does not name this CNO any more, is leaving it. @return whether a trigger of
    /// it has not been taken.
    bool withdraw(Evd& evd) EXCLUDES(mutex_);
    /// Keeps the CNO from going away under a thread that is about to trigger it.
    void pin() { ++pins_; }
    void unpin() { --pins_; }
    bool in_use() EXCLUDES(mutex_);
    /// Whether the calling thread runs this CNO's agent.
    bool is_in_agent() EXCLUDES(mutex_);
    /// Sends the waiters away with CNO_DEAD, calls no agent any more, and returns when all agents
    /// have returned but those that the calling thread itself runs.
    void silence() EXCLUDES(mutex_);
    bool is_dead() EXCLUDES(mutex_);
    /// For the end of a silenced CNO: returns when no thread knows it any more.
    void await_quiet();

    Ia& ia;
    Cno* next_due = nullptr;  ///< guarded by the agent thread's mutex

  private:
    class Waiting;
    class AgentCall;
    void await_unpinned();
    void announce() REQUIRES(mutex_);
    void pass_over_empty() REQUIRES(mutex_);
    void remove(Evd** link) REQUIRES(mutex_);
    bool take(DAT_EVD_HANDLE* evd, std::uint64_t* evd_id) REQUIRES(mutex_);
    void settle_descriptor() REQUIRES(mutex_);
    DAT_RETURN wait_for(DAT_TIMEOUT timeout, int old_cancel_state, DAT_EVD_HANDLE* evd,
                        std::uint64_t* evd_id) EXCLUDES(mutex_);

    support::Mutex mutex_;
    support::CondVar changed_;
    const DAT_FD descriptor_;
    DAT_OS_WAIT_PROXY_AGENT agent_ GUARDED_BY(mutex_);
    AgentCall* calls_ GUARDED_BY(mutex_) = nullptr;  ///< in flight, on their threads' stacks
    /// Linked through Evd::trigger, oldest first; attached to this CNO, all of them.
    Evd* first_triggered_ GUARDED_BY(mutex_) = nullptr;
    Evd** triggered_end_ GUARDED_BY(mutex_) = &first_triggered_;
    Evd* newest_ GUARDED_BY(mutex_) = nullptr;  ///< one of them: what an agent is called for
    bool deserted_ GUARDED_BY(mutex_) = false;  ///< the last EVD has gone; waits to be taken
    bool dead_ GUARDED_BY(mutex_) = false;
    int waiters_ GUARDED_BY(mutex_) = 0;
    int evds_ GUARDED_BY(mutex_) = 0;
    std::atomic<int> pins_{0};
};

/// Ends a CNO that no EVD is attached to; its waiters are sent away. Its agent may do so.
void destroy_cno(Cno& cno);

}  // namespace dapl
