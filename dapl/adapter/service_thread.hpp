// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The service thread of the core, one per process: reads the devices' async events, the completion
/// channels of EVDs with a CNO, and dat_stat's socket. It never runs a consumer's code and blocks
/// all signals.
#pragma once

#include <pthread.h>

#include <atomic>
#include <vector>

#include "support/thread/mutex.hpp"
#include "support/thread/poller.hpp"

namespace dapl {

class ServiceThread {
  public:
    /// The thread calls serve() when a watched descriptor is ready.
    class Handler {
      public:
        virtual void serve() = 0;

      protected:
        ~Handler() = default;
    };

    /// Throws std::bad_alloc when the system refuses a descriptor or a thread.
    ServiceThread();
    /// Stops and joins the thread. No handler may be watched any more.
    ~ServiceThread();

    /// Calls the handler from now on whenever the descriptor is readable. @return false if the
    /// system refuses; if a limit is reached, it has been reported to the user.
    bool watch(int descriptor, Handler& handler) EXCLUDES(mutex_);
    /// When this returns, the handler is not being called and will not be called again.
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
    std::vector<Handler*> known_ GUARDED_BY(mutex_);  ///< watched; others may be destroyed already
    Handler* serving_ GUARDED_BY(mutex_) = nullptr;
    std::atomic<bool> stopping_{false};
};

}  // namespace dapl
