// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/evd/agent_thread.hpp"

#include <signal.h>

#include "dapl/evd/cno.hpp"

namespace dapl {

AgentThread::~AgentThread() {
    {
        support::MutexLock lock(mutex_);
        if (!started_) return;
        stopping_ = true;
        changed_.notify_all();
    }
    pthread_join(thread_, nullptr);
}

bool AgentThread::start() {
    support::MutexLock lock(mutex_);
    if (started_) return true;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    started_ = pthread_create(&thread_, nullptr, run, this) == 0;
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    return started_;
}

void AgentThread::call_soon(Cno& cno) {
    support::MutexLock lock(mutex_);
    Cno** link = &first_due_;
    for (; *link; link = &(*link)->next_due)
        if (*link == &cno) return;
    cno.next_due = nullptr;
    *link = &cno;
    changed_.notify_all();
}

void AgentThread::forget(Cno& cno) {
    support::MutexLock lock(mutex_);
    for (Cno** link = &first_due_; *link; link = &(*link)->next_due) {
        if (*link != &cno) continue;
        *link = cno.next_due;
        return;
    }
}

void* AgentThread::run(void* self) {
    static_cast<AgentThread*>(self)->loop();
    return nullptr;
}

void AgentThread::loop() {
    for (;;) {
        Cno* cno;
        {
            support::MutexLock lock(mutex_);
            while (!first_due_ && !stopping_) changed_.wait(mutex_);
            if (stopping_) return;
            cno = first_due_;
            first_due_ = cno->next_due;
            cno->pin();
        }
        cno->call_agent();
    }
}

}  // namespace dapl
