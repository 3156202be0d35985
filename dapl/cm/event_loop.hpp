// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The one service thread of the connection side: watches the managers' descriptors and runs
/// timers. It starts with the first adapter of the process, blocks all signals, and is joined with
/// the last.
#pragma once

#include <pthread.h>

#include <chrono>
#include <set>
#include <unordered_map>
#include <utility>

#include "dapl/cm/lock.hpp"
#include "dapl/support/result.hpp"

namespace dapl::cm {

/// A descriptor's reader. Called by the event thread whenever there may be something to read; must
/// not block.
class EventSource {
  public:
    virtual void ready() REQUIRES(connection_lock) = 0;

  protected:
    ~EventSource() = default;
};

/// One shot. Belongs to its owner, who cancels it before it goes away.
class Timer {
  public:
    using Clock = std::chrono::steady_clock;
    virtual void expired() REQUIRES(connection_lock) = 0;

  protected:
    ~Timer() = default;

  private:
    friend class EventLoop;
    bool armed_ GUARDED_BY(connection_lock) = false;
    Clock::time_point deadline_ GUARDED_BY(connection_lock);
};

class EventLoop {
  public:
    /// @return the process's loop, started if need be; each acquire is matched by a release.
    static support::Result<EventLoop*> acquire() EXCLUDES(connection_lock);
    /// The last release joins the thread.
    static void release() EXCLUDES(connection_lock);

    support::Result<void> watch(int descriptor, EventSource& source) REQUIRES(connection_lock);
    /// The source is not called any more once this has returned.
    void forget(int descriptor) REQUIRES(connection_lock);

    /// Arms the timer, anew if it is armed already.
    void arm(Timer& timer, Timer::Clock::time_point deadline) REQUIRES(connection_lock);
    void cancel(Timer& timer) REQUIRES(connection_lock);

    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;
    ~EventLoop();

  private:
    EventLoop() = default;
    support::Result<void> start();
    void stop() EXCLUDES(connection_lock);
    static void* thread_main(void* loop);
    void run();
    int milliseconds_to_next_timer() REQUIRES(connection_lock);
    void run_expired_timers() REQUIRES(connection_lock);
    void wake();

    int epoll_ = -1;
    int wake_up_ = -1;
    pthread_t thread_ = {};
    bool stopping_ GUARDED_BY(connection_lock) = false;
    /// By descriptor, so that an event fetched before forget() finds nothing.
    std::unordered_map<int, EventSource*> sources_ GUARDED_BY(connection_lock);
    std::set<std::pair<Timer::Clock::time_point, Timer*>> timers_ GUARDED_BY(connection_lock);
};

}  // namespace dapl::cm
