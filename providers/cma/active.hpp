// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The active side: resolves the peer's address and the route, then sends the request.
#pragma once

#include "dapl/cm/failed_try.hpp"
#include "providers/cma/connect_thread.hpp"
#include "providers/cma/connection.hpp"
#include "support/settings/settings.hpp"

namespace dapl::cma {

class ActiveConnection : public Connection {
  public:
    /// @param peer AF_INET or AF_INET6.
    ActiveConnection(const Manager& manager, const sockaddr* peer, std::uint16_t port,
                     const cm::Parameters& parameters, cm::User& user) REQUIRES(connection_lock);
    /// @return a failure only if not even an id can be created.
    support::Result<void> start(rdma_port_space space = RDMA_PS_TCP) REQUIRES(connection_lock);
    void disconnect() override REQUIRES(connection_lock);
    cm::Progress progress() const final REQUIRES(connection_lock);

  protected:
    void handle(const Event& event) override REQUIRES(connection_lock);
    virtual void send_request() REQUIRES(connection_lock);
    /// @param error rdma_connect's errno, 0 for success.
    void requested(int error) REQUIRES(connection_lock);
    /// Also reports the failed attempt in a message.
    void not_made(cm::Outcome outcome, const std::string& cause, cm::PrivateData data = {}) final
        REQUIRES(connection_lock);

  private:
    enum class Step { kAddress, kRoute, kAnswer };

    void begin(Step step) REQUIRES(connection_lock);
    void resolve_address() REQUIRES(connection_lock);
    void resolve_route() REQUIRES(connection_lock);
    /// Called when the peer has accepted.
    void connect_queue_pair(const Event& event) REQUIRES(connection_lock);
    /// Whether to try the step again; counts the try. @param most setting: tries of a step,
    /// including the first.
    bool may_retry(const Event& event, support::Setting most) REQUIRES(connection_lock);
    void address_error(const Event& event) REQUIRES(connection_lock);

    const cm::Timer::Clock::time_point started_ = cm::Timer::Clock::now();
    Step step_ = Step::kAddress;
    long tries_ = 1;
    std::unique_ptr<ConnectThread> connecting_;  ///< destroyed before the id
};

}  // namespace dapl::cma
