// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One rdma_cm id on its way from address to connection.
#pragma once

#include "dapl/cm/failed_try.hpp"
#include "dapl/cm/unlocked_step.hpp"
#include "dapl/support/settings.hpp"
#include "providers/cma/connect_thread.hpp"
#include "providers/cma/datagram_message.hpp"
#include "providers/cma/manager.hpp"
#include "providers/cma/private_data.hpp"

namespace dapl::cma {

class Connection final : public cm::Connection, private EventTarget {
  public:
    /// Active side.
    Connection(const Manager& manager, const cm::Parameters& parameters, cm::User& user);
    /// Passive side; takes the request's id. @param asking of a datagram endpoint.
    Connection(const Manager& manager, const Event& request,
               const std::optional<DatagramMessage>& asking = std::nullopt);
    ~Connection() override = default;

    /// @param peer AF_INET or AF_INET6. @return a failure only where not even an id can be made.
    support::Result<void> start(const sockaddr* peer, std::uint16_t port) REQUIRES(connection_lock);
    support::Result<void> accept(const cm::Parameters& parameters, cm::User& user) override
        REQUIRES(connection_lock);
    void reject(cm::PrivateData data) override REQUIRES(connection_lock);
    void disconnect() override REQUIRES(connection_lock);
    sockaddr_storage peer_address() const override REQUIRES(connection_lock) { return peer_; }
    cm::Progress progress() const override REQUIRES(connection_lock);
    std::uint16_t local_port() const override REQUIRES(connection_lock);
    std::uint16_t remote_port() const override REQUIRES(connection_lock);
    bool is_datagram() const override { return is_datagram_; }
    cm::DatagramAddress datagram_address() const override REQUIRES(connection_lock) {
        return datagram_address_;
    }

  private:
    /// The first three are the active side's.
    enum class Step { kAddress, kRoute, kAnswer, kEstablished, kEnded };

    void handle(const Event& event) override REQUIRES(connection_lock);
    /// @return which message of the peer an event is, or nullptr.
    const char* message_of(rdma_cm_event_type type) const;
    void begin(Step step) REQUIRES(connection_lock);
    void resolve_address() REQUIRES(connection_lock);
    void resolve_route() REQUIRES(connection_lock);
    /// On iWARP librdmacm moves the queue pair where the kernel does not: at the end.
    void lend_queue_pair() REQUIRES(connection_lock);
    void request_connection() REQUIRES(connection_lock);
    /// @return errno, 0 for success.
    int answer_request() REQUIRES(connection_lock);
    void answered(const Event& event) REQUIRES(connection_lock);
    /// @param error rdma_connect's errno, 0 for success.
    void requested(int error) REQUIRES(connection_lock);
    /// Counts the try. @param most tries of this step, the first one included.
    bool may_retry(const Event& event, support::Setting most) REQUIRES(connection_lock);
    void address_error(const Event& event) REQUIRES(connection_lock);
    void unreachable(const std::string& answer) REQUIRES(connection_lock);
    void refused(const std::string& answer, cm::PrivateData data) REQUIRES(connection_lock);
    void rejected(const Event& event) REQUIRES(connection_lock);
    /// Tells the peer of this end. @return an errno value.
    int answer_datagrams(DatagramMessage::Kind kind, cm::PrivateData data)
        REQUIRES(connection_lock);
    void accept_datagrams() REQUIRES(connection_lock);
    void datagrams_answered(const Event& event) REQUIRES(connection_lock);
    void report(cm::Outcome outcome, cm::PrivateData data = {}) REQUIRES(connection_lock);
    cm::FailedTry failed_try(const std::string& answer) const REQUIRES(connection_lock);
    rdma_conn_param parameters() const;
    cm::PrivateData given() const { return {given_.data(), given_size_}; }

    const Manager& manager_;
    cm::User* user_ = nullptr;  ///< none before an accept
    const bool active_;
    const bool is_datagram_;
    cm::DatagramAddress datagram_address_{};
    bool peer_gone_ = false;  ///< before an accept
    ibv_qp* qp_ = nullptr;
    std::uint8_t responder_resources_ = 0;
    std::uint8_t initiator_depth_ = 0;
    std::array<std::byte, kLargestGiven> given_{};
    std::size_t given_size_ = 0;
    sockaddr_storage peer_{};
    Step step_ = Step::kAddress;
    long tries_ = 1;
    const cm::Timer::Clock::time_point begun_ = cm::Timer::Clock::now();
    Id id_;
    std::unique_ptr<ConnectThread> connecting_;  ///< goes before id_
    cm::UnlockedStep moving_;                    ///< goes first
};

class Listener final : public cm::Listener, private EventTarget {
  public:
    Listener(const Manager& manager, cm::ListenUser& user) : manager_(manager), user_(user) {}
    support::Result<void> start(std::uint16_t port) REQUIRES(connection_lock);

  private:
    void handle(const Event& event) override REQUIRES(connection_lock);
    support::Result<Id> listen(rdma_port_space space, std::uint16_t port) REQUIRES(connection_lock);

    const Manager& manager_;
    cm::ListenUser& user_;
    Id id_;
    Id datagram_id_;  ///< where datagram endpoints are served
};

}  // namespace dapl::cma
