// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The passive side, from a complete request on.
#pragma once

#include "providers/exchange/timed_queue.hpp"
#include "providers/sockets/connection.hpp"

namespace dapl::sockets {

class PassiveConnection final : public Connection, private exchange::TimedQueue::Member {
  public:
    /// Takes the link over from whoever has watched it. @param request a complete one.
    PassiveConnection(Host& host, Link link, const sockaddr_storage& peer, const Reader& request)
        REQUIRES(connection_lock);
    ~PassiveConnection() override REQUIRES(connection_lock);

    support::Result<void> accept(const cm::Parameters& parameters, cm::User& user) override
        REQUIRES(connection_lock);
    void answer() override REQUIRES(connection_lock);
    void reject(cm::PrivateData data) override REQUIRES(connection_lock);
    bool is_datagram() const override { return request_.message().sender.qp_type == IBV_QPT_UD; }

  private:
    void go_on() override REQUIRES(connection_lock);
    void waited() override REQUIRES(connection_lock) {}
    void expelled(const std::string& why) override REQUIRES(connection_lock);
    /// Sends the last message to a peer that gets no connection.
    void refuse(Operation operation, cm::PrivateData data) REQUIRES(connection_lock);
    void refuse_path(const std::string& cause) REQUIRES(connection_lock);
    /// @return 0 or an errno value.
    int send_reply(const OwnEnd& own, std::uint8_t mtu) REQUIRES(connection_lock);

    Reader request_;
    Reader ready_to_use_{Reader::Expected::kReadyToUse};
    bool is_answered_ = false;
};

}  // namespace dapl::sockets
