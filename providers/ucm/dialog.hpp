// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One side's record of an exchange of messages: who takes part, by which ports and ids, and what
/// was said last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "dapl/cm/lock.hpp"
#include "providers/ucm/address.hpp"
#include "providers/ucm/message.hpp"

namespace dapl::ucm {

/// The fields that a request shares with its repetitions, and with no other request.
using RequestKey = std::tuple<std::uint16_t, std::array<std::uint8_t, 16>, std::uint32_t,
                              std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
RequestKey key_of(const Message& request);

/// @return the service queue pair that a message comes from.
QpAddress sender_of(const Message& message);

class Dialog {
  public:
    /// The active side's, before its request.
    /// @param own, peer service queue pairs. @param id this side's, which is also its port.
    Dialog(std::uint32_t own_qpn, const QpAddress& peer, std::uint16_t peer_port, std::uint32_t id);
    /// The passive side's. @param id this side's.
    Dialog(const Message& request, std::uint32_t id);

    const QpAddress& peer() const { return peer_; }
    /// Nothing at the active side.
    const std::optional<RequestKey>& request() const { return request_; }
    std::uint32_t id() const { return last_.source_id; }
    std::uint32_t own_port() const { return last_.source_port; }
    std::uint32_t peer_port() const { return last_.destination_port; }
    /// This side's latest message; the caller fills in what this class does not know.
    Message& last() { return last_; }
    /// Makes a message without data the latest one, unless it only answers.
    const Message& say(Operation operation);
    /// @return an answer that leaves last() as it is.
    Message answer(Operation operation) const;
    /// Whether the message comes from the peer and is meant for this side. A peer that cannot know
    /// this side's id yet has given its port alone.
    bool is_from_peer(const Message& message) const;
    /// Learns the id of the peer, from its reply.
    void learn(const Message& reply) { last_.destination_id = reply.source_id; }

  private:
    QpAddress peer_;
    std::optional<RequestKey> request_;
    Message last_;
};

/// @return a rejection of a request that has no dialog, or of a reply to nobody.
/// @param own the address of this side's service queue pair.
Message refusal(const Message& message, const QpAddress& own);

/// Why nothing can be sent to a peer.
struct Refusal {
    std::string why;
    /// Nobody has told the peer's address in time. The question, too, was a packet that can get
    /// lost.
    bool timed_out;
};

/// One who gets the messages of a dialog. The service knows it by the id.
class Participant {
  public:
    /// @param message from the peer of the dialog.
    virtual void take(const Message& message) REQUIRES(connection_lock) = 0;
    virtual void undeliverable(const Refusal& refusal) REQUIRES(connection_lock) = 0;
    virtual const Dialog& dialog() const REQUIRES(connection_lock) = 0;

  protected:
    ~Participant() = default;
};

}  // namespace dapl::ucm
