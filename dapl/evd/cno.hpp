// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Consumer notification object: one place to wait for many EVDs. It queues the EVDs that have
/// triggered, once each, oldest first. An EVD that has no event when its turn comes is passed over,
/// so that it hides no other.
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
/// thread calls it.
enum class Agent { kMayRun, kElsewhere };

class Cno final : public Object<Cno>, public ListNode<Cno> {
  public:
    static constexpr Kind kKind = Kind::kCno;
    /// @param first_agent empty if there is a descriptor.
    /// @param descriptor an eventfd, readable while a trigger waits, or -1; owned by the CNO.
    Cno(Ia& owner, const DAT_OS_WAIT_PROXY_AGENT& first_agent, DAT_FD descriptor);
    ~Cno();

    /// Queues the trigger of an EVD to which an event has come. Merges with a trigger of the same
    /// EVD that nobody has consumed; goes to the EVD's new CNO if it has been moved. The proxy
    /// agent is called once per setting; with kMayRun no lock may be held. Releases the caller's
    /// pin, since the agent may free the CNO.
    void trigger(Evd& evd, Agent agent) EXCLUDES(mutex_);
    /// Calls the agent, if it is still set, for the EVD that triggered last or, if that one's event
    /// is gone, for the one that triggered first. Releases the caller's pin.
    void call_agent() EXCLUDES(mutex_);
    /// @param timeout microseconds. @param old_cancel_state the caller's; cancellation is disabled
    /// except during the wait itself.
    DAT_RETURN wait(DAT_TIMEOUT timeout, int old_cancel_state, DAT_EVD_HANDLE* evd)
        EXCLUDES(mutex_);
    /// @return the code of dat_cno_modify_agent.
    DAT_RETURN set_agent(const DAT_OS_WAIT_PROXY_AGENT& agent) EXCLUDES(mutex_);
    void query(DAT_CNO_PARAM& parameters) EXCLUDES(mutex_);
    struct Look {
        int waiters, evds;
        bool triggered;
    };
    /// Snapshot for monitoring; never waits. @return nothing if another thread holds the mutex.
    std::optional<Look> look() EXCLUDES(mutex_);
    /// Count the attached EVDs. When the last one detaches, one wait ends with a NULL EVD.
    void attach() EXCLUDES(mutex_);
    void detach() EXCLUDES(mutex_);
    /// Withdraws the trigger of an EVD that is leaving and does not name this CNO any more.
    /// @return whether there was one that nobody had consumed.
    bool withdraw(Evd& evd) EXCLUDES(mutex_);
    /// Keeps the CNO alive for a thread that is about to trigger it.
    void pin() { ++pins_; }
    void unpin() { --pins_; }
    bool in_use() EXCLUDES(mutex_);
    /// Whether the calling thread runs this CNO's agent.
    bool is_in_agent() EXCLUDES(mutex_);
    /// Ends all waits with CNO_DEAD, calls no agent any more, and returns when all agents have
    /// returned except those that the calling thread itself runs.
    void silence() EXCLUDES(mutex_);
    bool is_dead() EXCLUDES(mutex_);
    /// Called before a silenced CNO is destroyed: returns when no other thread refers to it any
    /// more.
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
    AgentCall* calls_ GUARDED_BY(mutex_) = nullptr;  ///< in progress, on their threads' stacks
    /// Queue of triggered EVDs, oldest first, linked through Evd::trigger. All are attached to this
    /// CNO.
    Evd* first_triggered_ GUARDED_BY(mutex_) = nullptr;
    Evd** triggered_end_ GUARDED_BY(mutex_) = &first_triggered_;
    Evd* newest_ GUARDED_BY(mutex_) = nullptr;  ///< the one that triggered last, for the agent
    bool deserted_ GUARDED_BY(mutex_) = false;  ///< the last EVD has detached; not consumed yet
    bool dead_ GUARDED_BY(mutex_) = false;
    int waiters_ GUARDED_BY(mutex_) = 0;
    int evds_ GUARDED_BY(mutex_) = 0;
    std::atomic<int> pins_{0};
};

/// Destroys a CNO to which no EVD is attached; its waits end with CNO_DEAD. Its agent may call
/// this.
void destroy_cno(Cno& cno);

}  // namespace dapl
