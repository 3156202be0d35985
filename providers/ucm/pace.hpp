// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Lets requests and disconnects out a few at a time. A peer has receives for a few hundred
/// messages; what is beyond them is lost, and sent again only after a time in which thousands could
/// have been answered. So some may be unanswered. After a tick of a short clock without any answer
/// they no longer count: their peers take their time, or will never answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>

#include "dapl/cm/event_loop.hpp"

namespace dapl::ucm {

/// connection_lock guards it.
class Pace final : private cm::Timer {
  public:
    /// One who has a message to send for the first time.
    class Opener {
      public:
        virtual void open() REQUIRES(connection_lock) = 0;

      protected:
        ~Opener() = default;

      private:
        friend class Pace;
        enum class State { kOutside, kWaiting, kUnanswered };
        State state_ GUARDED_BY(connection_lock) = State::kOutside;
        std::uint64_t round_ GUARDED_BY(connection_lock) = 0;  ///< in which it was let out
        /// This opener's entry, which is in the queue while it waits: nothing is allocated then.
        std::list<Opener*> entry_ GUARDED_BY(connection_lock){this};
        const std::list<Opener*>::iterator place_ = entry_.begin();
    };

    explicit Pace(cm::EventLoop& loop) : loop_(loop) {}
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;
    /// To be called before destruction.
    void stop() REQUIRES(connection_lock) { loop_.cancel(*this); }

    /// Has it open now, or later. It leaves before it is destroyed.
    void enter(Opener& opener) REQUIRES(connection_lock);
    /// It is answered, or gives up. Does nothing if it has left.
    void leave(Opener& opener) REQUIRES(connection_lock);

  private:
    static constexpr std::size_t kMostUnanswered = 64;
    static constexpr std::chrono::milliseconds kTick{10};

    void expired() override REQUIRES(connection_lock);
    void let_out() REQUIRES(connection_lock);

    cm::EventLoop& loop_;
    std::list<Opener*> waiting_ GUARDED_BY(connection_lock);
    std::size_t unanswered_ GUARDED_BY(connection_lock) = 0;  ///< of those let out in this round
    std::uint64_t round_ GUARDED_BY(connection_lock) = 0;     ///< ends with a tick without answer
    bool one_has_left_ GUARDED_BY(connection_lock) = false;   ///< since the last tick
};

}  // namespace dapl::ucm
