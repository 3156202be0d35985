// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A queue whose members are expelled after a time, and when there are too many: the one that has
/// been here longest goes first, so that new ones always get in.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>

#include "dapl/cm/event_loop.hpp"

namespace dapl::exchange {

class TimedQueue final : private cm::Timer {
  public:
    class Member {
      public:
        /// Called when it is no longer a member; may destroy the member.
        /// @param why for a message about the peer.
        virtual void expelled(const std::string& why) REQUIRES(connection_lock) = 0;

      protected:
        ~Member() = default;

      private:
        friend class TimedQueue;
        struct Place {
            Member* member;
            Clock::time_point deadline;
        };
        bool is_member_ GUARDED_BY(connection_lock) = false;
        std::list<Place>::iterator place_ GUARDED_BY(connection_lock);
    };

    TimedQueue(cm::EventLoop& loop, std::size_t most, std::chrono::milliseconds time)
        : loop_(loop), most_(most), time_(time) {}
    TimedQueue(const TimedQueue&) = delete;
    TimedQueue& operator=(const TimedQueue&) = delete;
    /// To be called before destruction.
    void stop() REQUIRES(connection_lock) { loop_.cancel(*this); }

    /// Adds a member; expels the oldest one first if there are too many.
    void enter(Member& member) REQUIRES(connection_lock);
    /// Does nothing if it is not a member.
    void leave(Member& member) REQUIRES(connection_lock);
    /// @return false if there is none to expel.
    bool expel_oldest(const std::string& why) REQUIRES(connection_lock);
    std::size_t size() const REQUIRES(connection_lock) { return oldest_first_.size(); }

  private:
    void expired() override REQUIRES(connection_lock);

    cm::EventLoop& loop_;
    const std::size_t most_;
    const std::chrono::milliseconds time_;
    std::list<Member::Place> oldest_first_ GUARDED_BY(connection_lock);
};

}  // namespace dapl::exchange
