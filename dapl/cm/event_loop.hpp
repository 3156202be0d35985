// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The one service thread of the connection side: watches the managers' descriptors and runs
/// timers. It starts with the first adapter of the process, blocks all signals, and is joined with
/// the last.
#pragma once

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

#include "dapl/cm/lock.hpp"
#include "support/base/result.hpp"
#include "support/thread/poller.hpp"

namespace dapl::cm {

/// What a source waits for. Errors and a hang-up are always told.
enum class Interest { kRead, kWrite, kReadWrite };

/// A descriptor's reader or writer.
class EventSource {
  public:
    /// Called by the event thread for as long as the descriptor is ready or has failed. Must not
    /// block, and does a bounded piece of work: what is left makes the descriptor ready again. One
    /// that cannot take what is there asks the loop to rest the descriptor.
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
    using Queue = std::set<std::pair<Clock::time_point, Timer*>>;

    bool armed_ GUARDED_BY(connection_lock) = false;
    Clock::time_point deadline_ GUARDED_BY(connection_lock);
    /// Kept from the last time, so that a timer that was armed once needs no memory again.
    Queue::node_type entry_ GUARDED_BY(connection_lock);
};

class EventLoop {
  public:
    /// @return the process's loop, started if need be; each acquire is matched by a release.
    static support::Result<EventLoop*> acquire() EXCLUDES(connection_lock);
    /// The last release joins the thread.
    static void release() EXCLUDES(connection_lock);

    /// @param descriptor non-blocking; to be forgotten before it is closed.
    support::Result<void> watch(int descriptor, EventSource& source,
                                Interest interest = Interest::kRead) REQUIRES(connection_lock);
    void change_interest(int descriptor, Interest interest) REQUIRES(connection_lock);
    /// The source is not called any more once this has returned.
    void forget(int descriptor) REQUIRES(connection_lock);
    /// Leaves a watched descriptor alone for kRest, whatever happens to it.
    void rest(int descriptor) REQUIRES(connection_lock);
    static constexpr std::chrono::milliseconds kRest{50};

    /// Arms the timer, anew if it is armed already.
    void arm(Timer& timer, Timer::Clock::time_point deadline) REQUIRES(connection_lock);
    void cancel(Timer& timer) REQUIRES(connection_lock);
    /// From here on arm() needs no memory for this timer. Throws std::bad_alloc.
    void reserve(Timer& timer) REQUIRES(connection_lock);

    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

  private:
    /// A source with its descriptor; the timer ends its rest.
    struct Watched final : Timer {
        Watched(EventLoop& its_loop, int its_descriptor, EventSource& its_source)
            : loop(its_loop), descriptor(its_descriptor), source(its_source) {}
        void expired() override REQUIRES(connection_lock);
        /// For the poller: never 0, and another for each use of a descriptor's number.
        std::uint64_t key() const REQUIRES(connection_lock) {
            return std::uint64_t{serial} << 32 | static_cast<std::uint32_t>(descriptor);
        }

        EventLoop& loop;
        const int descriptor;
        EventSource& source;
        Interest interest GUARDED_BY(connection_lock) = Interest::kRead;
        /// Tells this use of the descriptor's number from the ones before.
        std::uint32_t serial GUARDED_BY(connection_lock) = 0;
        bool resting GUARDED_BY(connection_lock) = false;
    };

    EventLoop() = default;
    support::Result<void> start();
    void stop() EXCLUDES(connection_lock);
    static void* thread_main(void* loop);
    void run();
    void handle(std::uint64_t key) REQUIRES(connection_lock);
    template <typename Call>
    bool call_out(const Call& call) REQUIRES(connection_lock);
    /// @return 0 or an errno value.
    int add(Watched& watched) REQUIRES(connection_lock);
    int plan_sleep() REQUIRES(connection_lock);
    void run_expired_timers() REQUIRES(connection_lock);

    support::Poller poller_;
    pthread_t thread_ = {};
    bool stopping_ GUARDED_BY(connection_lock) = false;
    bool in_call_ GUARDED_BY(connection_lock) =
        false;  ///< the event thread is in a source or timer
    std::uint32_t last_serial_ GUARDED_BY(connection_lock) = 0;
    std::unordered_map<int, Watched> sources_ GUARDED_BY(connection_lock);
    Timer::Queue timers_ GUARDED_BY(connection_lock);
    /// When the thread looks at the timers again by itself.
    Timer::Clock::time_point sleeps_until_ GUARDED_BY(connection_lock) =
        Timer::Clock::time_point::max();
};

/// Releases an acquired loop.
class LoopHold {
  public:
    explicit LoopHold(EventLoop& acquired) : loop_(&acquired) {}
    LoopHold(LoopHold&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)) {}
    LoopHold& operator=(LoopHold&&) = delete;
    ~LoopHold() {
        if (loop_) EventLoop::release();
    }
    EventLoop& loop() const { return *loop_; }

  private:
    EventLoop* loop_;
};

}  // namespace dapl::cm
