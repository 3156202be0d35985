// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A librdmacm whose events are the test's: every call succeeds and does nothing, and an event
/// comes when raise() says so.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <span>
#include <vector>

#include "dapl/provider/library.hpp"

namespace fake {

/// The library whose connection manager is the one over rdma_cm.
extern const dapl::Library kRdmaLibrary;

/// What rdma_bind_addr finds behind the next addresses.
void bind_to(ibv_context* context);

/// Identifiers that are alive, oldest first; those of requests that nobody has fetched not counted.
std::vector<rdma_cm_id*> identifiers();

/// Raises an event and waits until the channel's reader has handled it. A connection request comes
/// with an identifier of its own.
/// @param data of at most 255 bytes, as librdmacm carries it. @param null a size without bytes.
void raise(rdma_cm_id& id, rdma_cm_event_type type, int status, std::span<const std::byte> data,
           bool null);

/// How often the manager has called what, since the process began.
struct Calls {
    int resolve_addr, resolve_route, connect, accept, establish, reject, disconnect;
    int address_timeout, route_timeout;  ///< of the last call, in ms
};
Calls calls();
/// What the next rdma_connect calls fail with; 0: they succeed.
void refuse_connects(int error);
/// The same for rdma_establish.
void refuse_to_establish(int error);

}  // namespace fake
