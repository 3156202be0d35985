// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The interface between the core and the connection managers (rdma_cm, sockets, ...). Control path
/// only. A manager moves bytes and reports; the connection state machine, the private-data rules,
/// timers and events belong to the core.
///
/// Unless stated otherwise, functions are called with connection_lock held. Reports to User and
/// ListenUser are made with it held too: by the event thread, or from within the call that caused
/// them. No call waits for a peer.
#pragma once

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "dapl/base/codes.hpp"
#include "dapl/cm/event_loop.hpp"
#include "dapl/cm/lock.hpp"
#include "support/base/facts.hpp"
#include "support/base/result.hpp"
#include "support/base/unique_fd.hpp"

namespace dapl::cm {

/// The device that a manager has opened for an adapter instance. The manager closes it.
struct Adapter {
    ibv_context* context;      ///< may be shared with other adapter instances of the process
    std::uint8_t port;         ///< 1-based
    sockaddr_storage address;  ///< the IA address, to which peers connect
};

using PrivateData = std::span<const std::byte>;

/// Maximum size of the consumer's private data, in bytes.
struct Limits {
    std::size_t connect, accept, reject;
};

/// Describes how a manager serves datagram endpoints.
struct DatagramService {
    std::uint32_t queue_key;  ///< Q_Key of all datagram endpoints, at both ends
    std::uint16_t p_key_index;
    Limits limits;
};

/// The address of a datagram endpoint's queue pair.
struct DatagramAddress {
    ibv_ah_attr way;
    std::uint32_t qpn;
};

/// Maximum number of RDMA reads and atomic operations outstanding at a time.
struct Reads {
    std::uint8_t served;  ///< as responder to the peer
    std::uint8_t asked;   ///< as requester
};

/// The parameters that one side contributes to a connection.
struct Parameters {
    /// In INIT; the manager moves it to RTS. A datagram endpoint's queue pair is in RTS and stays
    /// there. Outlives the Connection.
    ibv_qp* qp;
    std::uint8_t responder_resources;
    std::uint8_t initiator_depth;
    PrivateData private_data;  ///< within Limits; copied before the call returns
};

enum class Outcome {
    kEstablished,      ///< on the active side with the private data of the accept
    kPeerRejected,     ///< the peer's consumer rejected, with its private data
    kNonPeerRejected,  ///< nobody listens there, or the peer's CM rejected
    kUnreachable,
    kLocalFailure,
    kDisconnected,
};

/// Receives the reports about a connection. Must not destroy the Connection from within a report.
class User {
  public:
    /// @param data valid during the call only; its size is what the transport delivers, including
    /// padding.
    virtual void report(Outcome outcome, PrivateData data) REQUIRES(connection_lock) = 0;
    /// @return the id by which the trace names the connection.
    virtual std::uint64_t traced_id() const { return 0; }

  protected:
    ~User() = default;
};

/// Says how far an attempt to connect has come.
struct Progress {
    const char* step;  ///< what is in progress
    long tries;        ///< of this step, including the current one
};

/// One connection, or one attempt to make it. Destroying it gives up: nothing more is reported, and
/// a peer whose handshake is still open is notified. Call disconnect() first on an established one.
class Connection {
  public:
    virtual ~Connection() = default;
    /// Passive side. Takes the endpoint for the answer. A returned failure means that this endpoint
    /// cannot serve the request, which stays unanswered.
    virtual support::Result<void> accept(const Parameters& parameters, User& user)
        REQUIRES(connection_lock) = 0;
    /// After accept(). What the device and the peer do with the answer is reported to the user.
    /// Except for datagram endpoints, connection_lock is released while the device connects the
    /// queue pair: the connection may be gone when the call returns.
    virtual void answer() REQUIRES(connection_lock) = 0;
    /// Sends the consumer's rejection to the peer; it may get lost if the peer has given up.
    virtual void reject(PrivateData data) REQUIRES(connection_lock) = 0;
    /// Takes the connection down. The event thread then reports kDisconnected: with rdma_cm when
    /// the peer has answered, with sockets at once.
    virtual void disconnect() REQUIRES(connection_lock) = 0;
    /// Includes the CM's port.
    virtual sockaddr_storage peer_address() const REQUIRES(connection_lock) = 0;
    /// Whether a request comes from a datagram endpoint. Then nothing is connected: each end only
    /// learns the other's address, and kEstablished is the last report. A datagram endpoint accepts
    /// such requests and no others.
    virtual bool is_datagram() const { return false; }
    /// @return the address of the peer's datagram endpoint; valid while kEstablished is reported.
    virtual DatagramAddress datagram_address() const REQUIRES(connection_lock) { return {}; }
    /// @return the limits of this connection, where they are not the manager's.
    virtual std::optional<Limits> limits() const { return std::nullopt; }
    /// Active side; for the message when the consumer's timeout has expired.
    virtual Progress progress() const REQUIRES(connection_lock) {
        return {"waiting for the peer's answer", 1};
    }
    /// The CM's own port numbers, host order; 0 while there is none.
    virtual std::uint16_t local_port() const REQUIRES(connection_lock) = 0;
    virtual std::uint16_t remote_port() const REQUIRES(connection_lock) = 0;
};

class ListenUser {
  public:
    /// Hands over a request for a connection. @param data as in User::report().
    virtual void request(std::unique_ptr<Connection> connection, PrivateData data)
        REQUIRES(connection_lock) = 0;
    /// No request can come any more: the peer on a program's socket has gone, or sends none.
    virtual void deserted() REQUIRES(connection_lock) {}

  protected:
    ~ListenUser() = default;
};

/// Listens until destroyed. Requests already handed over stay valid.
class Listener {
  public:
    virtual ~Listener() = default;
};

/// Connects over TCP sockets that the program has connected. After a rejection the program can go
/// on with its own descriptor of the socket; else the end of the connection is the socket's.
class SocketService {
  public:
    virtual support::Result<std::unique_ptr<Connection>> connect(support::UniqueFd socket,
                                                                 const Parameters& parameters,
                                                                 User& user)
        REQUIRES(connection_lock) = 0;
    /// Waits for one request.
    /// @param last_words sent before, as the last of the program's own stream.
    virtual support::Result<std::unique_ptr<Listener>> listen(support::UniqueFd socket,
                                                              std::span<const std::byte> last_words,
                                                              ListenUser& user)
        REQUIRES(connection_lock) = 0;

  protected:
    ~SocketService() = default;
};

/// The connection manager of one adapter instance. The IA destroys it last, without
/// connection_lock, when none of its Connections and Listeners is left.
class Manager {
  public:
    /// @param running released when the manager is destroyed.
    /// @param opened_as the IA's name, for settings that can be given per IA.
    explicit Manager(LoopHold running, std::string_view opened_as = {})
        : hold_(std::move(running)), loop(hold_.loop()), ia_name(opened_as) {}
    virtual ~Manager() = default;
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

  private:
    const LoopHold hold_;

  public:
    EventLoop& loop;  ///< for the timers of its connections
    const std::string ia_name;
    virtual const Adapter& adapter() const = 0;
    virtual const char* name() const = 0;            ///< DAT_IB_PROVIDER_NAME: CMA or SCM
    virtual DAT_COUNT max_private_data() const = 0;  ///< the provider attribute, in bytes
    virtual Limits limits() const = 0;
    /// @return nothing where the manager or the device does not serve datagram endpoints.
    virtual std::optional<DatagramService> datagrams() const { return std::nullopt; }

    /// Reports how it chose its device, port and address. Called without connection_lock.
    virtual void explain(const support::Facts& facts) const = 0;

    /// Starts a connection and returns at once. What happens on the network is reported to `user`;
    /// the call itself fails only if nothing could be sent.
    /// @param peer AF_INET or AF_INET6, in a sockaddr_storage; its port is ignored.
    virtual support::Result<std::unique_ptr<Connection>> connect(const sockaddr* peer,
                                                                 std::uint64_t conn_qual,
                                                                 const Parameters& parameters,
                                                                 User& user)
        REQUIRES(connection_lock) = 0;
    /// Fails with raw DAT_CONN_QUAL_IN_USE if the qualifier is in use anywhere on this machine.
    virtual support::Result<std::unique_ptr<Listener>> listen(std::uint64_t conn_qual,
                                                              ListenUser& user)
        REQUIRES(connection_lock) = 0;

    /// @return nothing where the device cannot be connected over TCP sockets of programs.
    virtual std::optional<Limits> socket_limits() const { return std::nullopt; }
    /// Never nullptr. Fails where there are no socket_limits(), or the device does not answer.
    virtual support::Result<SocketService*> sockets() REQUIRES(connection_lock) {
        return support::failure(raw(DAT_MODEL_NOT_SUPPORTED), "the device takes no sockets over");
    }
};

}  // namespace dapl::cm
