// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The thread that calls proxy agents for threads that must not call them: a thread that posts an
/// event may hold locks, and the service thread must not block while an agent waits for what that
/// thread delivers.
#pragma once

#include <pthread.h>

#include "support/thread/mutex.hpp"

namespace dapl {

class Cno;

class AgentThread {
  public:
    AgentThread() = default;
    /// Stops the thread and waits for its end. No CNO may be due any more.
    ~AgentThread();
    AgentThread(const AgentThread&) = delete;
    AgentThread& operator=(const AgentThread&) = delete;

    /// Starts the thread, unless it runs: called when an agent is set. @return false when the
    /// system refuses, which has then been reported to the user.
    bool start() EXCLUDES(mutex_);
    /// Queues a call of the CNO's agent. Any locks but a CNO's may be held.
    void call_soon(Cno& cno) EXCLUDES(mutex_);
    /// On return the CNO is not due. The thread may have dequeued it before: then it is pinned.
    void forget(Cno& cno) EXCLUDES(mutex_);

  private:
    static void* run(void* self);
    void loop() EXCLUDES(mutex_);
    int start_once() EXCLUDES(mutex_);

    support::Mutex mutex_;
    support::CondVar changed_;
    Cno* first_due_ GUARDED_BY(mutex_) = nullptr;  ///< linked through Cno::next_due
    bool started_ GUARDED_BY(mutex_) = false;
    bool stopping_ GUARDED_BY(mutex_) = false;
    pthread_t thread_{};  ///< valid once started_
};

}  // namespace dapl
