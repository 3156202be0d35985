// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection half of an endpoint.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "dapl/cm/lock.hpp"

namespace dapl {

class Ep;

/// Guarded by connection_lock.
struct EpConnection {
    sockaddr_storage remote_address{};  ///< family 0 before the first connection, kept after it
    std::uint64_t local_port_qual = 0;
    std::uint64_t remote_port_qual = 0;
};

/// The consumer has taken the completion of a failed transfer (flushes not counted): a CONNECTED
/// EP breaks. On the consumer's thread.
void transfer_failed(Ep& ep) REQUIRES(connection_lock);
/// The device says that the QP is in error. On the service thread, which posts the async event.
void queue_pair_failed(Ep& ep) REQUIRES(connection_lock);
/// For dat_ep_free and dat_ia_close: ends the connection abruptly, whatever its state, with its
/// event. On return no connection manager knows the EP.
void abandon_connection(Ep& ep) REQUIRES(connection_lock);
/// For dat_ep_reset: forgets the last connection, its private data included.
void forget_connection(Ep& ep) REQUIRES(connection_lock);

}  // namespace dapl
