// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Takes an InfiniBand queue pair through its states as rdma_cm says. librdmacm would do it, within
/// the call that fetches the event, and with two calls more for each connection.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>

namespace dapl::cma {

/// What a side serves and asks where rdma_cm does not know it yet: before an accept.
struct Reads {
    std::uint8_t served;
    std::uint8_t asked;
};

struct QueuePairMove {
    ibv_qp* qp;       ///< in INIT
    bool keeps_init;  ///< INIT is as rdma_cm wants it
    std::optional<Reads> reads;
};

/// INIT if need be, RTR, RTS. May wait for the kernel, which finds the way to the peer.
/// @return errno, 0 for success.
int make_ready(rdma_cm_id* id, const QueuePairMove& move);

/// As librdmacm does before it disconnects.
void set_error_state(ibv_qp* qp);

/// @param id bound to a device. @return the index in the port's table that rdma_cm's queue pairs
/// get, nothing where it is not known.
std::optional<std::uint16_t> partition_index(rdma_cm_id* id);

}  // namespace dapl::cma
