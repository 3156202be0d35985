// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The service thread: one per process that opened the device. It waits for descriptors, timers and
/// posted functions, and runs their handlers one after the other. No handler may block on a peer.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "dapl/support/mutex.hpp"
#include "providers/soft/fabric/result.hpp"

namespace softverbs {

/// All functions are thread safe; handlers run on the service thread with no lock of ours held.
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
    void change(int fd, std::uint32_t events);
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

  private:
    static void* run(void* service);
    void loop();
    void run_posted() EXCLUDES(mutex_);
    void run_timers() EXCLUDES(mutex_);
    int next_timeout() EXCLUDES(mutex_);
    void dispatch(int fd, std::uint32_t events) EXCLUDES(mutex_);
    void wake();

    using TimerKey = std::pair<Deadline, TimerId>;

    UniqueFd epoll_;
    UniqueFd wake_;  ///< eventfd
    pthread_t thread_{};
    bool started_ = false;
    std::atomic<pthread_t> service_thread_{};  ///< set by the thread itself: start() may be slower
    std::atomic<bool> stopping_{false};
    support::Mutex mutex_;
    std::unordered_map<int, std::shared_ptr<FdHandler>> handlers_ GUARDED_BY(mutex_);
    std::deque<Function> posted_ GUARDED_BY(mutex_);
    std::map<TimerKey, Function> timers_ GUARDED_BY(mutex_);
    std::unordered_map<TimerId, Deadline> timer_deadlines_ GUARDED_BY(mutex_);
    TimerId last_timer_ GUARDED_BY(mutex_) = 0;
};

}  // namespace softverbs
