// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The passive side, from the request on.
#pragma once

#include "providers/ucm/connection.hpp"

namespace dapl::ucm {

class PassiveConnection final : public Connection {
  public:
    /// @param id this side's, not in use.
    PassiveConnection(Manager& manager, const Message& request, std::uint32_t id)
        REQUIRES(connection_lock);
    ~PassiveConnection() override REQUIRES(connection_lock);

    support::Result<void> accept(const cm::Parameters& parameters, cm::User& user) override
        REQUIRES(connection_lock);
    void answer() override REQUIRES(connection_lock);
    void reject(cm::PrivateData data) override REQUIRES(connection_lock);
    bool is_datagram() const override { return request_.sender.qp_type == IBV_QPT_UD; }

  private:
    void refuse_path(const std::string& cause) REQUIRES(connection_lock);
    void go_on(const Message& message) override REQUIRES(connection_lock);
    void unanswered() override REQUIRES(connection_lock);
    void give_up() override REQUIRES(connection_lock);
    void unreachable(const std::string& why) override REQUIRES(connection_lock);
    /// The handshake is over without a connection. A late repetition of the request is the
    /// epilogue's.
    void fail(Epilogue::Kind kind, cm::Outcome outcome) REQUIRES(connection_lock);
    /// The last message to a peer that gets no connection.
    void refuse(Operation operation, cm::PrivateData data) REQUIRES(connection_lock);

    const Message request_;
};

}  // namespace dapl::ucm
