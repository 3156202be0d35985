// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The port between the core and the way connections are made (rdma_cm, sockets, ...). Control path
/// only. An implementation moves bytes and reports; the connection state machine, the private-data
/// rules, timers and events are the core's.
///
/// Rules for all of it: called with connection_lock held, except where said; a report (CmUser,
/// CmListenUser) is made with the lock held as well, from the event thread or from within the call
/// that caused it. No call waits for a peer.
#pragma once

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "dapl/cm/lock.hpp"
#include "dapl/support/result.hpp"

namespace dapl {

using PrivateData = std::span<const std::byte>;

/// What one side hands the manager to make or accept a connection.
struct CmParameters {
    ibv_qp* qp;  ///< in INIT; the manager moves it on
    std::uint8_t responder_resources;
    std::uint8_t initiator_depth;
    PrivateData private_data;  ///< within CmLimits; copied before the call returns
};

/// Largest private data that a device carries, in bytes.
struct CmLimits {
    std::size_t connect, accept, reject;
};

enum class CmOutcome {
    kEstablished,      ///< with the accept's data at the active side
    kPeerRejected,     ///< the peer's consumer said no, with its data
    kNonPeerRejected,  ///< nobody listens there, or the peer's CM said no
    kUnreachable,
    kLocalFailure,
    kDisconnected,
};

/// Who is told about a connection. After the CmConnection is destroyed nothing is reported.
class CmUser {
  public:
    /// @param data valid during the call only; its size is what the transport shows, padding
    /// included.
    virtual void report(CmOutcome outcome, PrivateData data) REQUIRES(connection_lock) = 0;

  protected:
    ~CmUser() = default;
};

/// One connection or one try at it. Destroying it gives up: a peer whose handshake is still open is
/// told, an established connection is not taken down cleanly (disconnect() first).
class CmConnection {
  public:
    virtual ~CmConnection() = default;
    /// Passive side: who hears of it from now on. Before this, losing the peer shows in
    /// peer_gone().
    virtual void set_user(CmUser& user) REQUIRES(connection_lock) = 0;
    virtual support::Result<void> accept(const CmParameters& parameters)
        REQUIRES(connection_lock) = 0;
    /// Tells the peer that its consumer said no.
    virtual support::Result<void> reject(PrivateData data) REQUIRES(connection_lock) = 0;
    /// Takes the connection down; kDisconnected is reported when the peer has answered.
    virtual void disconnect() REQUIRES(connection_lock) = 0;
    virtual bool peer_gone() const REQUIRES(connection_lock) = 0;
    virtual sockaddr_storage peer_address() const REQUIRES(connection_lock) = 0;
    /// The CM's own port numbers, host order; 0 while there is none.
    virtual std::uint16_t local_port() const REQUIRES(connection_lock) = 0;
    virtual std::uint16_t remote_port() const REQUIRES(connection_lock) = 0;
};

class CmListenUser {
  public:
    /// @param data as in CmUser::report.
    virtual void request(std::unique_ptr<CmConnection> connection, PrivateData data)
        REQUIRES(connection_lock) = 0;

  protected:
    ~CmListenUser() = default;
};

/// Listens until destroyed. Requests already handed over live on.
class CmListener {
  public:
    virtual ~CmListener() = default;
};

/// The device and port behind one IA. The IA owns it, closes everything on it first, and destroys
/// it without connection_lock.
class CmAdapter {
  public:
    virtual ~CmAdapter() = default;
    /// The verbs context; the manager's own, not to be closed, and shared with other adapters of
    /// this process on the same device.
    virtual ibv_context* context() const = 0;
    virtual std::uint8_t port() const = 0;
    /// The IA's address, in a buffer large enough for any family.
    virtual const sockaddr_storage& address() const = 0;
    virtual CmLimits limits() const = 0;

    /// Starts a connection and returns at once. What the network finds out is reported; only what
    /// fails before anything was tried is a failure.
    /// @param peer 16 readable bytes (AF_INET) or a whole sockaddr_in6.
    virtual support::Result<std::unique_ptr<CmConnection>> connect(const sockaddr* peer,
                                                                   std::uint64_t conn_qual,
                                                                   const CmParameters& parameters,
                                                                   CmUser& user)
        REQUIRES(connection_lock) = 0;
    /// A qualifier in use anywhere on this machine: raw DAT_CONN_QUAL_IN_USE.
    virtual support::Result<std::unique_ptr<CmListener>> listen(std::uint64_t conn_qual,
                                                                CmListenUser& user)
        REQUIRES(connection_lock) = 0;
};

/// The manager that is linked into this library.
class ConnectionManager {
  public:
    virtual ~ConnectionManager() = default;
    /// What DAT_IB_PROVIDER_NAME says.
    virtual const char* name() const = 0;
    /// max_private_data_size of the provider attributes.
    virtual int max_private_data() const = 0;
    /// Opens the device that the ia_params of dat.conf name. Starts the event thread with the first
    /// adapter. Called without connection_lock. A failure has been told to the user.
    virtual support::Result<std::unique_ptr<CmAdapter>> open(std::string_view ia_name,
                                                             std::string_view ia_params)
        EXCLUDES(connection_lock) = 0;
};

/// Defined by the manager's own object files: providers/cma, providers/scm.
ConnectionManager& connection_manager();

}  // namespace dapl
