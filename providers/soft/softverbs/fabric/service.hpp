// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The service thread, one per process that has opened the device. It waits for descriptors, timers
/// and posted functions, and runs their handlers one after the other. No handler may block on a
/// peer.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "providers/soft/softverbs/fabric/result.hpp"
#include "support/thread/mutex.hpp"
#include "support/thread/poller.hpp"

namespace softverbs {

/// All functions are thread safe; handlers run on the service thread with no lock of ours held.
/// Nothing is allocated or freed under the lock.
class Service {
  public:
    using Function = std::function<void()>;
    /// Called with the EPOLL* bits that are ready.
    using FdHandler = std::function<void(std::uint32_t events)>;
    using TimerId = std::uint64_t;

    Service() = default;
    ~Service() { stop(); }
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Starts the thread, with all signals blocked.
    Result<void> start();
    /// Stops and joins the thread, which first runs what was posted before. Not from the thread
    /// itself.
    void stop();
    /// Called in a child after fork, where the thread does not exist: closes descriptors, touches
    /// no lock.
    void abandon();

    /// Calls `handler` when one of `events` (EPOLLIN, EPOLLOUT) is ready on `fd`, level triggered.
    Result<void> watch(int fd, std::uint32_t events, FdHandler handler) EXCLUDES(mutex_);
    /// Changes the events of a watched descriptor.
    void change(int fd, std::uint32_t events) EXCLUDES(mutex_);
    /// After this no new call of the handler begins; when another thread calls this, a call may
    /// still be running on the service thread. Call before closing `fd`.
    void unwatch(int fd) EXCLUDES(mutex_);

    /// Runs `function` on the service thread, soon.
    void post(Function function) EXCLUDES(mutex_);
    /// Runs `function` on the service thread at `deadline`. @return an id for cancel(), never 0.
    TimerId at(Deadline deadline, Function function) EXCLUDES(mutex_);
    /// @return false when it has run, is running, or never existed.
    bool cancel(TimerId timer) EXCLUDES(mutex_);

    bool on_service_thread() const;

    /// Calls `call` again as long as it runs out of memory, so that nothing received is lost.
    /// Handlers allocate before they change anything, so that they can start again.
    /// @return false when memory was lacking for kMemoryTries tries; then `call` has done nothing.
    template <class Call>
    static bool persist(const Call& call) {
        for (int tries = 0; tries < kMemoryTries; ++tries) {
            try {
                call();
                return true;
            } catch (const std::bad_alloc&) {
                await_memory(tries);
            }
        }
        return false;
    }

  private:
    static constexpr int kMemoryTries = 1000;  ///< at intervals of 1 ms
    static void await_memory(int tries);
    template <class Call>
    static void run_handler(const Call& handler);

    static void* run(void* service);
    void loop();
    void run_posted() EXCLUDES(mutex_);
    void run_timers() EXCLUDES(mutex_);
    int next_timeout() EXCLUDES(mutex_);
    void dispatch(std::uint64_t watch, std::uint32_t events) EXCLUDES(mutex_);

    using TimerKey = std::pair<Deadline, TimerId>;
    // The map nodes are made before mutex_ is taken and destroyed after it is released
    // (made_node.hpp).
    struct Watched {
        std::uint32_t serial;  ///< of watch()
        std::shared_ptr<FdHandler> handler;
    };
    using Handlers = std::map<int, Watched>;
    using Timers = std::map<TimerKey, Function>;
    using Deadlines = std::map<TimerId, Deadline>;

    support::Poller poller_;
    pthread_t thread_{};
    bool started_ = false;
    /// Set by the thread itself, which may run before start() has filled in thread_.
    std::atomic<pthread_t> service_thread_{};
    std::atomic<bool> stopping_{false};
    support::Mutex mutex_;
    Handlers handlers_ GUARDED_BY(mutex_);
    std::uint32_t last_serial_ GUARDED_BY(mutex_) = 0;
    std::list<Function> posted_ GUARDED_BY(mutex_);
    Timers timers_ GUARDED_BY(mutex_);
    Deadlines timer_deadlines_ GUARDED_BY(mutex_);
    TimerId last_timer_ GUARDED_BY(mutex_) = 0;
};

}  // namespace softverbs
