// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A connection's remains, which are kept for a while: a peer that has missed its last message gets
/// it again, and a late repetition of its request is no new one.
#pragma once

#include <string>

#include "providers/exchange/timed_queue.hpp"
#include "providers/ucm/dialog.hpp"
#include "providers/ucm/pace.hpp"
#include "providers/ucm/resends.hpp"

namespace dapl::ucm {

class Service;

/// The service owns it.
class Epilogue final : public Participant,
                       public exchange::TimedQueue::Member,
                       public Pace::Opener,
                       private cm::Timer {
  public:
    enum class Kind {
        kDisconnecting,  ///< this side says so until the peer answers
        kRejected,       ///< the request was
        kOver
    };
    /// One who waits for the peer's word that the connection is down.
    class Waiter {
      public:
        virtual void is_down() REQUIRES(connection_lock) = 0;

      protected:
        ~Waiter() = default;
    };

    Epilogue(Service& service, const Dialog& dialog, Kind kind, Waiter* waiter);
    ~Epilogue() REQUIRES(connection_lock);
    /// To be called once the service has it.
    void start() REQUIRES(connection_lock);
    void forget_waiter() REQUIRES(connection_lock) { waiter_ = nullptr; }

    void take(const Message& message) override REQUIRES(connection_lock);
    void undeliverable(const Refusal& refusal) override REQUIRES(connection_lock);
    const Dialog& dialog() const override { return dialog_; }

  private:
    void open() override REQUIRES(connection_lock) { send_disconnect(); }
    void expired() override REQUIRES(connection_lock) { send_disconnect(); }
    /// Whoever waits is told with the last one.
    void send_disconnect() REQUIRES(connection_lock);
    /// Its time is over: has the service destroy it.
    void expelled(const std::string& why) override REQUIRES(connection_lock);
    void down() REQUIRES(connection_lock);

    Service& service_;
    Dialog dialog_;
    Kind kind_;
    Waiter* waiter_;
    int sends_ = 0;
};

}  // namespace dapl::ucm
