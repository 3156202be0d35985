// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/evd/agent_thread.hpp"

#include "dapl/evd/cno.hpp"
#include "support/base/limits.hpp"
#include "support/thread/start_thread.hpp"

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
    const int error = start_once();
    if (error != 0) support::report_limit(error, "the thread that calls the agents of CNOs");
    return error == 0;
}

int AgentThread::start_once() {
    support::MutexLock lock(mutex_);
    if (started_) return 0;
    const int error = support::start_thread(thread_, run, this);
    started_ = error == 0;
    return error;
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
