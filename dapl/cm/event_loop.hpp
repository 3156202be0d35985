// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The event thread of the connection managers, one per process: watches their descriptors and runs
/// timers. It starts with the first adapter of the process, blocks all signals, and is joined with
/// the last adapter.
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

/// The events that a source waits for. Errors and hang-ups are always reported.
enum class Interest { kRead, kWrite, kReadWrite };

/// A descriptor's reader or writer.
class EventSource {
  public:
    /// The event thread calls it again and again while the descriptor is ready or has failed. Must
    /// not block and must do a bounded amount of work: what is left makes the descriptor ready
    /// again. A source that cannot consume what is there has the loop rest() the descriptor.
    virtual void ready() REQUIRES(connection_lock) = 0;

  protected:
    ~EventSource() = default;
};

/// A one-shot timer. Its owner cancels it before destroying it.
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
    /// The set's node from the last arming, kept so that arming the timer again needs no memory.
    Queue::node_type entry_ GUARDED_BY(connection_lock);
};

class EventLoop {
  public:
    /// @return the process's loop, started if necessary; each acquire() needs one release().
    static support::Result<EventLoop*> acquire() EXCLUDES(connection_lock);
    /// The last release() stops the loop and joins its thread.
    static void release() EXCLUDES(connection_lock);

    /// @param descriptor non-blocking; call forget() before closing it.
    support::Result<void> watch(int descriptor, EventSource& source,
                                Interest interest = Interest::kRead) REQUIRES(connection_lock);
    void change_interest(int descriptor, Interest interest) REQUIRES(connection_lock);
    /// The source is no longer called once this has returned.
    void forget(int descriptor) REQUIRES(connection_lock);
    /// Stops polling a watched descriptor for kRest, whatever happens to it.
    void rest(int descriptor) REQUIRES(connection_lock);
    static constexpr std::chrono::milliseconds kRest{50};

    /// Arms the timer; moves the deadline if it is armed already.
    void arm(Timer& timer, Timer::Clock::time_point deadline) REQUIRES(connection_lock);
    void cancel(Timer& timer) REQUIRES(connection_lock);
    /// Allocates what arm() needs, so that it needs no memory for this timer later. Throws
    /// std::bad_alloc.
    void reserve(Timer& timer) REQUIRES(connection_lock);

    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

  private:
    /// A source with its descriptor; the timer ends the descriptor's rest.
    struct Watched final : Timer {
        Watched(EventLoop& its_loop, int its_descriptor, EventSource& its_source)
            : loop(its_loop), descriptor(its_descriptor), source(its_source) {}
        void expired() override REQUIRES(connection_lock);
        /// Identifies the source to the poller: never 0, and different each time a descriptor
        /// number is reused.
        std::uint64_t key() const REQUIRES(connection_lock) {
            return std::uint64_t{serial} << 32 | static_cast<std::uint32_t>(descriptor);
        }

        EventLoop& loop;
        const int descriptor;
        EventSource& source;
        Interest interest GUARDED_BY(connection_lock) = Interest::kRead;
        /// Distinguishes this use of the descriptor number from earlier ones.
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
    /// The event thread is in a callback of a source or timer.
    bool in_call_ GUARDED_BY(connection_lock) = false;
    std::uint32_t last_serial_ GUARDED_BY(connection_lock) = 0;
    std::unordered_map<int, Watched> sources_ GUARDED_BY(connection_lock);
    Timer::Queue timers_ GUARDED_BY(connection_lock);
    /// When the thread wakes up by itself to check the timers.
    Timer::Clock::time_point sleeps_until_ GUARDED_BY(connection_lock) =
        Timer::Clock::time_point::max();
};

/// Owns one acquire() of the loop; its destructor calls release().
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
