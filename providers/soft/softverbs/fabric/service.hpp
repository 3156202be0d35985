// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The service thread: one per process that opened the device. It waits for descriptors, timers and
/// posted functions, and runs their handlers one after the other. No handler may block on a peer.
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
/// Nothing is allocated or freed under its lock.
class Service {
  public:
    using Function = std::function<void()>;
    /// Gets the EPOLL* bits that are ready.
    using FdHandler = std::function<void(std::uint32_t events)>;
    using TimerId = std::uint64_t;

    Service() = default;
    ~Service() { stop(); }
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Starts the thread, all signals blocked.
    Result<void> start();
    /// Ends and joins the thread; what was posted before is run first. Not from the thread itself.
    void stop();
    /// In a child after fork, where the thread does not exist: closes descriptors, touches no lock.
    void abandon();

    /// Calls `handler` when one of `events` (EPOLLIN, EPOLLOUT) is ready on `fd`, level triggered.
    Result<void> watch(int fd, std::uint32_t events, FdHandler handler) EXCLUDES(mutex_);
    /// Changes the events of a watched descriptor.
    void change(int fd, std::uint32_t events) EXCLUDES(mutex_);
    /// After this no new call of the handler begins; one that runs on the service thread may still
    /// be running when another thread asked. Call before closing `fd`.
    void unwatch(int fd) EXCLUDES(mutex_);

    /// Runs `function` on the service thread, soon.
    void post(Function function) EXCLUDES(mutex_);
    /// Runs `function` on the service thread at `deadline`. @return an id for cancel(), never 0.
    TimerId at(Deadline deadline, Function function) EXCLUDES(mutex_);
    /// @return false when it has run, runs, or never was.
    bool cancel(TimerId timer) EXCLUDES(mutex_);

    bool on_service_thread() const;

    /// Calls what may run out of memory, and again as long as it does: nothing that has come is
    /// lost. Handlers make room before they change anything, so that they can begin anew.
    /// @return false when there was no memory for kMemoryPatience; then `call` has done nothing.
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
    static constexpr int kMemoryTries = 1000;  ///< a millisecond each
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
    // Nodes alone: they are made before mutex_ is taken and destroyed after (made_node.hpp).
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
    std::atomic<pthread_t> service_thread_{};  ///< set by the thread itself: start() may be slower
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
