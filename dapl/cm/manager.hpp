// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The port between the core and the way connections are made (rdma_cm, sockets, ...). Control path
/// only. A manager moves bytes and reports; the connection state machine, the private-data rules,
/// timers and events are the core's.
///
/// Except where said, functions are called with connection_lock held. A report (User, ListenUser)
/// is made with it held as well: by the event thread, or from within the call that caused it. No
/// call waits for a peer.
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

#include "dapl/cm/event_loop.hpp"
#include "dapl/cm/lock.hpp"
#include "support/base/facts.hpp"
#include "support/base/result.hpp"

namespace dapl::cm {

/// The device that a manager has opened for an adapter instance. The manager closes it.
struct Adapter {
    ibv_context* context;      ///< may be shared with other adapter instances of the process
    std::uint8_t port;         ///< 1-based
    sockaddr_storage address;  ///< what peers connect to; the IA address
};

using PrivateData = std::span<const std::byte>;

/// Largest private data that may be given, in bytes.
struct Limits {
    std::size_t connect, accept, reject;
};

/// How a manager serves datagram endpoints.
struct DatagramService {
    std::uint32_t queue_key;  ///< of all of them, at both ends
    std::uint16_t p_key_index;
    Limits limits;
};

/// Where a datagram endpoint's queue pair is.
struct DatagramAddress {
    ibv_ah_attr way;
    std::uint32_t qpn;
};

/// RDMA reads and atomic operations under way at a time.
struct Reads {
    std::uint8_t served;  ///< for the peer
    std::uint8_t asked;   ///< of the peer
};

/// What a side brings to a connection.
struct Parameters {
    /// In INIT; the manager moves it on. A datagram endpoint's is in RTS and stays there. Outlives
    /// the Connection.
    ibv_qp* qp;
    std::uint8_t responder_resources;
    std::uint8_t initiator_depth;
    PrivateData private_data;  ///< within Limits; copied before the call returns
};

enum class Outcome {
    kEstablished,      ///< with the accept's data at the active side
    kPeerRejected,     ///< the peer's consumer said no, with its data
    kNonPeerRejected,  ///< nobody listens there, or the peer's CM said no
    kUnreachable,
    kLocalFailure,
    kDisconnected,
};

/// Who is told about a connection. Must not destroy the Connection from within a report.
class User {
  public:
    /// @param data valid during the call only; its size is what the transport shows, padding
    /// included.
    virtual void report(Outcome outcome, PrivateData data) REQUIRES(connection_lock) = 0;
    /// By what id the trace names the connection.
    virtual std::uint64_t traced_id() const { return 0; }

  protected:
    ~User() = default;
};

/// How far a try has come.
struct Progress {
    const char* step;  ///< what is under way
    long tries;        ///< of this step, the present one included
};

/// One connection or one try at it. To destroy it is to give up: nothing more is reported, and a
/// peer whose handshake is still open is told. An established one wants disconnect() first.
class Connection {
  public:
    virtual ~Connection() = default;
    /// Passive side. Whatever the device and the peer make of it is reported; a failure means that
    /// this endpoint cannot serve the request, which stays as it was.
    virtual support::Result<void> accept(const Parameters& parameters, User& user)
        REQUIRES(connection_lock) = 0;
    /// Tells the peer that its consumer said no; a peer that has given up need not be told.
    virtual void reject(PrivateData data) REQUIRES(connection_lock) = 0;
    /// Takes the connection down; kDisconnected is reported when the peer has answered.
    virtual void disconnect() REQUIRES(connection_lock) = 0;
    /// With the CM's port.
    virtual sockaddr_storage peer_address() const REQUIRES(connection_lock) = 0;
    /// Of a request: whether the peer's is a datagram endpoint. Then nothing is connected, each end
    /// only learns where the other is, and kEstablished is the last report. Such a request is
    /// accepted with a datagram endpoint, and no other is.
    virtual bool is_datagram() const { return false; }
    /// Of datagram endpoints, while kEstablished is reported: the peer's.
    virtual DatagramAddress datagram_address() const REQUIRES(connection_lock) { return {}; }
    /// Of the active side, for the message when the consumer's time is over.
    virtual Progress progress() const REQUIRES(connection_lock) {
        return {"waiting for the peer's answer", 1};
    }
    /// The CM's own port numbers, host order; 0 while there is none.
    virtual std::uint16_t local_port() const REQUIRES(connection_lock) = 0;
    virtual std::uint16_t remote_port() const REQUIRES(connection_lock) = 0;
};

class ListenUser {
  public:
    /// @param data as in User::report.
    virtual void request(std::unique_ptr<Connection> connection, PrivateData data)
        REQUIRES(connection_lock) = 0;

  protected:
    ~ListenUser() = default;
};

/// Listens until destroyed. Requests already handed over live on.
class Listener {
  public:
    virtual ~Listener() = default;
};

/// The connection manager of one adapter instance. The IA destroys it last, without
/// connection_lock; no Connection or Listener of it is left then.
class Manager {
  public:
    /// @param running released when the manager is gone.
    /// @param opened_as the IA's name, for settings that IAs may have of their own.
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
    virtual DAT_COUNT max_private_data() const = 0;  ///< of the provider attributes, in bytes
    virtual Limits limits() const = 0;
    /// Nothing where the manager or the device does not serve datagram endpoints.
    virtual std::optional<DatagramService> datagrams() const { return std::nullopt; }

    /// Tells by what choices it came to its device, port and address. Called without
    /// connection_lock.
    virtual void explain(const support::Facts& facts) const = 0;

    /// Starts a connection and returns at once. What the network finds out is reported; only what
    /// fails before anything was tried is a failure.
    /// @param peer AF_INET or AF_INET6, in a sockaddr_storage; the port is not looked at.
    virtual support::Result<std::unique_ptr<Connection>> connect(const sockaddr* peer,
                                                                 std::uint64_t conn_qual,
                                                                 const Parameters& parameters,
                                                                 User& user)
        REQUIRES(connection_lock) = 0;
    /// A qualifier in use anywhere on this machine: raw DAT_CONN_QUAL_IN_USE.
    virtual support::Result<std::unique_ptr<Listener>> listen(std::uint64_t conn_qual,
                                                              ListenUser& user)
        REQUIRES(connection_lock) = 0;
};

}  // namespace dapl::cm
