// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The one thread of the core in a process: reads the devices' async events and the completion
/// channels of EVDs with a CNO. It never runs a consumer's code. All signals blocked.
#pragma once

#include <pthread.h>

#include <atomic>
#include <vector>

#include "support/thread/mutex.hpp"
#include "support/thread/poller.hpp"

namespace dapl {

class ServiceThread {
  public:
    /// Something that the thread serves.
    class Handler {
      public:
        virtual void serve() = 0;

      protected:
        ~Handler() = default;
    };

    /// Throws std::bad_alloc when the system refuses a descriptor or a thread.
    ServiceThread();
    /// Waits for the thread. Nobody may be watched any more.
    ~ServiceThread();

    /// From now on the handler is served whenever the descriptor can be read. @return false when
    /// the system refuses; of a limit the user has been told.
    bool watch(int descriptor, Handler& handler) EXCLUDES(mutex_);
    /// On return the handler is not being served.
    void unwatch(int descriptor, Handler& handler) EXCLUDES(mutex_);

  private:
    static void* run(void* self);
    void loop();
    int add(int descriptor, Handler& handler) EXCLUDES(mutex_);
    void serve(Handler& handler) EXCLUDES(mutex_);

    support::Poller poller_;
    pthread_t thread_;
    support::Mutex mutex_;
    support::CondVar idle_;
    std::vector<Handler*> known_ GUARDED_BY(mutex_);  ///< watched: others may be gone already
    Handler* serving_ GUARDED_BY(mutex_) = nullptr;
    std::atomic<bool> stopping_{false};
};

}  // namespace dapl
