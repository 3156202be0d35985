// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Takes an InfiniBand queue pair through its states as rdma_cm says. librdmacm would do it, within
/// the call that fetches the event, and with two calls more for each connection.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>

#include "dapl/cm/manager.hpp"

namespace dapl::cma {

struct QueuePairMove {
    ibv_qp* qp;                      ///< in INIT
    bool keeps_init;                 ///< INIT is as rdma_cm wants it
    std::optional<cm::Reads> reads;  ///< where rdma_cm does not know them: before an accept
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
