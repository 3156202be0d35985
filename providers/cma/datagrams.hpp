// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Both sides of the exchange of addresses between datagram endpoints. Their queue pairs are ready,
/// and rdma_cm does not move them; an answer is the last message.
#pragma once

#include "providers/cma/active.hpp"
#include "providers/cma/datagram_message.hpp"
#include "providers/cma/passive.hpp"

namespace dapl::cma {

class ActiveDatagrams final : public ActiveConnection {
  public:
    using ActiveConnection::ActiveConnection;
    void disconnect() override {}

  private:
    void handle(const Event& event) override REQUIRES(connection_lock);
    void send_request() override REQUIRES(connection_lock);
    void answered(const Event& event) REQUIRES(connection_lock);
};

class PassiveDatagrams final : public PassiveConnection {
  public:
    /// @param asked the request's message.
    PassiveDatagrams(const Manager& manager, const Event& request, Id id,
                     const DatagramMessage& asked) REQUIRES(connection_lock);
    void reject(cm::PrivateData data) override REQUIRES(connection_lock);
    void disconnect() override {}
    bool is_datagram() const override { return true; }

  private:
    std::optional<int> send_accept() override REQUIRES(connection_lock);
    /// @return an errno value, 0 for success.
    int send(DatagramMessage::Kind kind, cm::PrivateData data) REQUIRES(connection_lock);
};

}  // namespace dapl::cma
