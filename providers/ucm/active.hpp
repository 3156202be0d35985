// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The active side.
#pragma once

#include "dapl/cm/failed_try.hpp"
#include "providers/ucm/connection.hpp"

namespace dapl::ucm {

class ActiveConnection final : public Connection {
  public:
    /// @param id this side's, not in use.
    ActiveConnection(Manager& manager, const sockaddr_storage& peer, std::uint16_t port,
                     std::uint32_t id, cm::User& user) REQUIRES(connection_lock);
    ~ActiveConnection() override REQUIRES(connection_lock);
    /// @return a failure if no request can be sent.
    support::Result<void> start(const cm::Parameters& parameters) REQUIRES(connection_lock);

    cm::Progress progress() const override REQUIRES(connection_lock);

  private:
    void go_on(const Message& message) override REQUIRES(connection_lock);
    void unanswered() override REQUIRES(connection_lock);
    void give_up() override REQUIRES(connection_lock);
    void unreachable(const std::string& why) override REQUIRES(connection_lock);
    void take_reply(const Message& reply) REQUIRES(connection_lock);
    bool connect_queue_pair(const Message& reply) REQUIRES(connection_lock);
    void confirm() REQUIRES(connection_lock);
    cm::FailedTry failed_try(const std::string& answer) const REQUIRES(connection_lock);

    OwnEnd own_end_{};
};

}  // namespace dapl::ucm
