// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The thread that calls proxy agents for those who must not: who posts an event may hold locks,
/// and the service thread must go on while an agent waits for what that thread delivers.
#pragma once

#include <pthread.h>

#include "support/thread/mutex.hpp"

namespace dapl {

class Cno;

class AgentThread {
  public:
    AgentThread() = default;
    /// Waits for the thread. No CNO may be due any more.
    ~AgentThread();
    AgentThread(const AgentThread&) = delete;
    AgentThread& operator=(const AgentThread&) = delete;

    /// The thread runs from the first agent on that is set. @return false when the
    /// system refuses, of which the user has been told.
    bool start() EXCLUDES(mutex_);
    /// Has the CNO call its agent, soon. Any locks but a CNO's may be held.
    void call_soon(Cno& cno) EXCLUDES(mutex_);
    /// On return the CNO is not due. The thread may have taken it up before: then it is pinned.
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
    pthread_t thread_{};  ///< once started
};

}  // namespace dapl
