// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A fake librdmacm: its calls succeed and do nothing, unless the test makes them fail, and events
/// come from raise() only.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <span>
#include <vector>

#include "dapl/provider/library.hpp"

namespace fake {

/// The library whose connection manager is the one over rdma_cm.
extern const dapl::Library kRdmaLibrary;

/// Sets the device to which identifiers are bound from now on.
void bind_to(ibv_context* context);

/// @return the live identifiers, oldest first, without those of requests that nobody has fetched.
std::vector<rdma_cm_id*> identifiers();

/// Raises an event and waits until the channel's reader has handled it. A connection request comes
/// with an identifier of its own.
/// @param data at most 255 bytes, as in librdmacm. @param null whether the event has a size but no
/// bytes.
void raise(rdma_cm_id& id, rdma_cm_event_type type, int status, std::span<const std::byte> data,
           bool null);

/// How often the manager has called each function since the process began.
struct Calls {
    int resolve_addr, resolve_route, connect, accept, establish, reject, disconnect;
    int address_timeout, route_timeout;  ///< of the last call, in ms
};
Calls calls();
/// Makes rdma_connect fail with this errno from now on; 0: it succeeds.
void refuse_connects(int error);
/// The same for rdma_establish.
void refuse_to_establish(int error);
/// Makes rdma_listen fail in the datagram port space with this errno; 0: it succeeds.
void refuse_datagram_listeners(int error);

}  // namespace fake
