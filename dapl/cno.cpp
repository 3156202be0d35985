// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cno.hpp"

#include <sched.h>

#include "dapl/codes.hpp"
#include "dapl/deadline.hpp"
#include "dapl/evd.hpp"
#include "dapl/guard.hpp"
#include "dapl/ia.hpp"

namespace dapl {

/// Counts a waiter for as long as its frame lives, which a cancellation may end.
class Cno::Waiting {
  public:
    explicit Waiting(Cno& cno) REQUIRES(cno.mutex_) : cno_(cno) { ++cno_.waiters_; }
    ~Waiting() NO_THREAD_SAFETY_ANALYSIS {  // the mutex is held: wait() takes it first
        --cno_.waiters_;
        cno_.changed_.notify_all();
    }

  private:
    Cno& cno_;
};

DAT_RETURN Cno::wait(DAT_TIMEOUT timeout, int old_cancel_state, DAT_EVD_HANDLE* evd) {
    const Deadline deadline(timeout);
    support::MutexLock lock(mutex_);
    const Waiting waiting(*this);
    bool in_time = true;
    while (!triggered_ && !dead_ && in_time) {
        const CancellationWindow window(old_cancel_state);
        if (deadline.infinite())
            changed_.wait(mutex_);
        else
            in_time = changed_.wait_until(mutex_, deadline.at());
    }
    *evd = nullptr;
    if (dead_) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_DEAD);
    if (!triggered_) return raw(DAT_QUEUE_EMPTY);
    *evd = trigger_;
    triggered_ = false;
    return DAT_SUCCESS;
}

void Cno::trigger(Evd& evd, Agent agent) {
    bool call;
    {
        support::MutexLock lock(mutex_);
        if (triggered_ || dead_) return;
        triggered_ = true;
        trigger_ = evd.handle();
        call = agent_.proxy_agent_func != nullptr;
        changed_.notify_all();
    }
    if (!call) return;
    if (agent == Agent::kMayRun)
        call_agent();
    else
        ia.service().serve_soon(*this);
}

void Cno::serve() {
    call_agent();
}

void Cno::call_agent() {
    DAT_OS_WAIT_PROXY_AGENT agent;
    DAT_EVD_HANDLE evd;
    {
        support::MutexLock lock(mutex_);
        agent = agent_;
        evd = trigger_;
        agent_.proxy_agent_func = nullptr;
    }
    if (agent.proxy_agent_func) agent.proxy_agent_func(agent.instance_data, evd);
}

void Cno::set_agent(const DAT_OS_WAIT_PROXY_AGENT& agent) {
    support::MutexLock lock(mutex_);
    agent_ = agent;
}

DAT_OS_WAIT_PROXY_AGENT Cno::agent() {
    support::MutexLock lock(mutex_);
    return agent_;
}

void Cno::attach() {
    support::MutexLock lock(mutex_);
    ++evds_;
}

void Cno::detach() {
    support::MutexLock lock(mutex_);
    if (--evds_ > 0 || waiters_ == 0 || triggered_) return;
    triggered_ = true;
    trigger_ = nullptr;
    changed_.notify_all();
}

bool Cno::in_use() {
    support::MutexLock lock(mutex_);
    return evds_ > 0 || waiters_ > 0;
}

void Cno::expel_waiters() {
    {
        support::MutexLock lock(mutex_);
        dead_ = true;
        changed_.notify_all();
        while (waiters_ > 0) changed_.wait(mutex_);
    }
    ia.service().forget(*this);
    while (pins_ > 0) sched_yield();
}

}  // namespace dapl
