// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The part common to both sides of a connection, above all its second half: a disconnect of either
/// side.
#pragma once

#include "dapl/cm/traced_message.hpp"
#include "providers/exchange/side.hpp"
#include "providers/ucm/dialog.hpp"
#include "providers/ucm/epilogue.hpp"
#include "providers/ucm/resends.hpp"
#include "providers/ucm/timing.hpp"

namespace dapl::ucm {

using exchange::OwnEnd;
using exchange::Way;

class Manager;

class Connection : public exchange::Side,
                   protected Participant,
                   protected Pace::Opener,
                   protected cm::Timer,
                   private Epilogue::Waiter {
  public:
    void disconnect() final REQUIRES(connection_lock);
    std::uint16_t local_port() const final REQUIRES(connection_lock);
    std::uint16_t remote_port() const final REQUIRES(connection_lock);

  protected:
    /// In this order: the peer knows nothing of it; the handshake has begun; both ends, or this one
    /// alone, are connected; nothing more comes of it.
    enum class State { kOpening, kHandshake, kConnected, kEnded };

    /// @param user nullptr if there is none yet.
    Connection(Manager& manager, const sockaddr_storage& peer, const Dialog& dialog, cm::User* user)
        REQUIRES(connection_lock);
    ~Connection() override REQUIRES(connection_lock);

    void take(const Message& message) final REQUIRES(connection_lock);
    void undeliverable(const Refusal& refusal) final REQUIRES(connection_lock);
    void expired() final REQUIRES(connection_lock);
    const Dialog& dialog() const final { return dialog_; }

    /// Takes a message other than the peer's disconnect, in any state but kEnded.
    virtual void go_on(const Message& message) REQUIRES(connection_lock) = 0;
    /// No answer has come to the last of all sends.
    virtual void unanswered() REQUIRES(connection_lock) = 0;
    /// The request or reply cannot be sent.
    virtual void unreachable(const std::string& why) REQUIRES(connection_lock) = 0;
    /// Tells the peer, which may be waiting, that this side gives up the handshake.
    virtual void give_up() REQUIRES(connection_lock) = 0;

    /// Fills in this side's request or reply, which open() sends.
    void offer(Operation operation, const OwnEnd& own, std::uint8_t mtu, Timing::Milliseconds wait)
        REQUIRES(connection_lock);
    /// Sends the request or reply, and does so again until stop_sending().
    void open() final REQUIRES(connection_lock);
    void send(const Message& message) const REQUIRES(connection_lock);
    void stop_sending() REQUIRES(connection_lock);
    /// @return this side's end of the path to the peer.
    tl::expected<OwnEnd, std::string> own_end(const QpAddress& peer) const
        REQUIRES(connection_lock);
    /// Reports kEstablished. A datagram endpoint's exchange is over then.
    void established(cm::PrivateData data = {}) REQUIRES(connection_lock);
    /// Makes the last report.
    void ended(cm::Outcome outcome, cm::PrivateData data = {}) REQUIRES(connection_lock);
    /// Leaves the rest of the dialog to an epilogue.
    void conclude(Epilogue::Kind kind) REQUIRES(connection_lock);

    Manager& manager_;
    Dialog dialog_;
    State state_ = State::kOpening;
    Resends resends_;
    Timing::Milliseconds wait_{};  ///< for the peer's answer, until the first repetition

  private:
    void is_down() override REQUIRES(connection_lock);
    void send_disconnect() REQUIRES(connection_lock);

    Epilogue* disconnecting_ = nullptr;  ///< which tells when the peer has answered
};

}  // namespace dapl::ucm
