// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/evd/cno.hpp"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/codes.hpp"
#include "dapl/base/deadline.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/evd/agent_thread.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "support/trace/trace_points.hpp"

namespace dapl {

/// Counts a waiter for as long as its frame lives, which a cancellation may end.
class Cno::Waiting {
  public:
    explicit Waiting(Cno& cno) REQUIRES(cno.mutex_) : cno_(cno) { ++cno_.waiters_; }
    ~Waiting() NO_THREAD_SAFETY_ANALYSIS {  // the mutex is held: wait_for() locks it first
        --cno_.waiters_;
        cno_.changed_.notify_all();
    }

  private:
    Cno& cno_;
};

/// One call of the agent. Its CNO lists it until the agent returns or, in the same thread, ends the
/// CNO. In the latter case the call does not touch the CNO any more.
class Cno::AgentCall {
  public:
    AgentCall() = default;
    ~AgentCall() {
        if (!cno_) return;
        support::MutexLock lock(cno_->mutex_);
        AgentCall** link = &cno_->calls_;
        while (*link != this) link = &(*link)->next_;
        *link = next_;
        cno_->changed_.notify_all();
    }
    AgentCall(const AgentCall&) = delete;
    AgentCall& operator=(const AgentCall&) = delete;

    void begin(Cno& cno) REQUIRES(cno.mutex_) {
        cno_ = &cno;
        next_ = cno.calls_;
        cno.calls_ = this;
    }
    static bool any_here(const AgentCall* call) {
        while (call && !call->is_here()) call = call->next_;
        return call != nullptr;
    }
    /// Removes the calls of this thread from a list.
    static void leave_own(AgentCall** link) {
        while (AgentCall* call = *link) {
            if (call->is_here()) {
                *link = call->next_;
                call->cno_ = nullptr;
            } else {
                link = &call->next_;
            }
        }
    }

  private:
    bool is_here() const { return pthread_equal(thread_, pthread_self()); }

    const pthread_t thread_ = pthread_self();
    Cno* cno_ = nullptr;  ///< changed by this thread only
    AgentCall* next_ = nullptr;
};

Cno::Cno(Ia& owner, const DAT_OS_WAIT_PROXY_AGENT& first_agent, DAT_FD descriptor)
    : ia(owner), descriptor_(descriptor), agent_(first_agent) {}

Cno::~Cno() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

DAT_RETURN Cno::wait(DAT_TIMEOUT timeout, int old_cancel_state, DAT_EVD_HANDLE* evd) {
    const std::uint64_t own_id = id();  // the CNO may be freed once its lock is released
    std::uint64_t evd_id = 0;
    const DAT_RETURN code = wait_for(timeout, old_cancel_state, evd, &evd_id);
    if (code == DAT_SUCCESS && support::data_path_traced())
        support::trace_trigger_taken(own_id, evd_id);
    return code;
}

DAT_RETURN Cno::wait_for(DAT_TIMEOUT timeout, int old_cancel_state, DAT_EVD_HANDLE* evd,
                         std::uint64_t* evd_id) {
    const Deadline deadline(timeout);
    support::MutexLock lock(mutex_);
    const Waiting waiting(*this);
    bool in_time = timeout > 0;
    pass_over_empty();
    while (!first_triggered_ && !deserted_ && !dead_ && in_time) {
        {
            const CancellationWindow window(old_cancel_state);
            if (deadline.infinite())
                changed_.wait(mutex_);
            else
                in_time = changed_.wait_until(mutex_, deadline.at());
        }
        pass_over_empty();
    }
    *evd = nullptr;
    if (dead_) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_DEAD);
    const bool taken = take(evd, evd_id);
    settle_descriptor();
    return taken ? kSuccess : raw(DAT_QUEUE_EMPTY);
}

/// Consumes a trigger; called after pass_over_empty(). @return false if there is none.
bool Cno::take(DAT_EVD_HANDLE* evd, std::uint64_t* evd_id) {
    if (Evd* found = first_triggered_) {
        *evd = found->handle();
        *evd_id = found->id();
        remove(&first_triggered_);
        return true;
    }
    return std::exchange(deserted_, false);
}

/// Removes triggered EVDs without an event from the front of the queue. An event that comes later
/// triggers again: it is counted as pending before its trigger takes this mutex.
void Cno::pass_over_empty() {
    while (Evd* evd = first_triggered_) {
        if (evd->look().pending > 0) return;
        remove(&first_triggered_);
    }
}

void Cno::remove(Evd** link) {
    Evd& evd = **link;
    *link = evd.trigger.next;
    if (triggered_end_ == &evd.trigger.next) triggered_end_ = link;
    if (newest_ == &evd) newest_ = nullptr;
    evd.trigger = {};
}

/// Makes the descriptor unreadable when no trigger waits any more.
void Cno::settle_descriptor() {
    eventfd_t ignored;
    if (descriptor_ >= 0 && !first_triggered_ && !deserted_) eventfd_read(descriptor_, &ignored);
}

void Cno::announce() {
    changed_.notify_all();
    if (descriptor_ >= 0) eventfd_write(descriptor_, 1);
}

void Cno::trigger(Evd& evd, Agent agent) {
    if (support::data_path_traced()) support::trace_trigger(id(), evd.id());
    bool call = false;
    Cno* now;
    {
        support::MutexLock lock(mutex_);
        now = evd.look().cno == this ? this : nullptr;
        if (now && !dead_) {
            if (!evd.trigger.waits) {
                evd.trigger = {nullptr, true};
                *triggered_end_ = &evd;
                triggered_end_ = &evd.trigger.next;
                announce();
            }
            newest_ = &evd;
            call = agent_.proxy_agent_func != nullptr;
        }
    }
    if (call && agent == Agent::kMayRun) return call_agent();
    if (call) ia.agents().call_soon(*this);
    // The EVD was moved to another CNO before the mutex was taken, and perhaps moved back since.
    Cno* const moved_to = now ? nullptr : evd.pin_cno();
    unpin();
    if (moved_to) moved_to->trigger(evd, agent);
}

void Cno::call_agent() {
    AgentCall call;
    DAT_OS_WAIT_PROXY_AGENT agent{};
    DAT_EVD_HANDLE evd = nullptr;
    {
        support::MutexLock lock(mutex_);
        pass_over_empty();
        if (first_triggered_) {
            const bool is_news = newest_ && newest_->look().pending > 0;
            evd = (is_news ? newest_ : first_triggered_)->handle();
            std::swap(agent, agent_);
        }
        if (agent.proxy_agent_func) call.begin(*this);
    }
    unpin();
    if (agent.proxy_agent_func) agent.proxy_agent_func(agent.instance_data, evd);
}

DAT_RETURN Cno::set_agent(const DAT_OS_WAIT_PROXY_AGENT& agent) {
    if (descriptor_ >= 0) return bad_argument(1);
    if (agent.proxy_agent_func && !ia.agents().start()) return kOutOfMemory;
    support::MutexLock lock(mutex_);
    if (dead_) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_DEAD);
    agent_ = agent;
    return DAT_SUCCESS;
}

void Cno::query(DAT_CNO_PARAM& parameters) {
    parameters.ia_handle = consumer_handle(ia);
    if (descriptor_ >= 0) {
        parameters.proxy_type = DAT_PROXY_TYPE_FD;
        parameters.proxy.fd = descriptor_;
        return;
    }
    parameters.proxy_type = DAT_PROXY_TYPE_AGENT;
    support::MutexLock lock(mutex_);
    parameters.proxy.agent = agent_;
}

void Cno::attach() {
    support::MutexLock lock(mutex_);
    ++evds_;
}

void Cno::detach() {
    support::MutexLock lock(mutex_);
    if (--evds_ > 0) return;
    // The CNO cannot see whether somebody polls the descriptor.
    if (waiters_ == 0 && descriptor_ < 0) return;
    deserted_ = true;
    announce();
}

bool Cno::withdraw(Evd& evd) {
    support::MutexLock lock(mutex_);
    if (!evd.trigger.waits) return false;
    Evd** link = &first_triggered_;
    while (*link != &evd) link = &(*link)->trigger.next;
    remove(link);
    settle_descriptor();
    return true;
}

bool Cno::in_use() {
    support::MutexLock lock(mutex_);
    return evds_ > 0 || waiters_ > 0;
}

std::optional<Cno::Look> Cno::look() {
    if (!mutex_.try_lock()) return std::nullopt;
    support::MutexLock lock(mutex_, support::MutexLock::kTaken);
    return Look{waiters_, evds_, first_triggered_ || deserted_};
}

bool Cno::is_in_agent() {
    support::MutexLock lock(mutex_);
    return AgentCall::any_here(calls_);
}

bool Cno::is_dead() {
    support::MutexLock lock(mutex_);
    return dead_;
}

void Cno::silence() {
    support::MutexLock lock(mutex_);
    dead_ = true;
    agent_.proxy_agent_func = nullptr;
    AgentCall::leave_own(&calls_);
    changed_.notify_all();
    while (waiters_ > 0 || calls_) changed_.wait(mutex_);
}

void Cno::await_quiet() {
    await_unpinned();  // a thread with a pin may have made the CNO due
    ia.agents().forget(*this);
    await_unpinned();  // the agent thread may have dequeued it before
}

void Cno::await_unpinned() {
    while (pins_ > 0) sched_yield();
}

}  // namespace dapl
