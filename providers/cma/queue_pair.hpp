// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Moves an InfiniBand queue pair through its states with rdma_cm's attributes. librdmacm would do
/// it within the call that fetches the event, and with two more calls for each connection.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>

#include "dapl/cm/manager.hpp"

namespace dapl::cma {

struct QueuePairMove {
    ibv_qp* qp;                      ///< in INIT
    bool keeps_init;                 ///< INIT is as rdma_cm wants it
    std::optional<cm::Reads> reads;  ///< if rdma_cm does not know them: before an accept
};

/// Moves the queue pair to INIT if necessary, RTR and RTS. May wait while the kernel resolves the
/// path to the peer.
/// @return errno, 0 for success.
int make_ready(rdma_cm_id* id, const QueuePairMove& move);

/// Moves the queue pair to the error state, as librdmacm does before it disconnects.
void set_error_state(ibv_qp* qp);

/// @param id bound to a device. @return the index in the port's partition table that rdma_cm's
/// queue pairs get; nullopt if it is not known.
std::optional<std::uint16_t> partition_index(rdma_cm_id* id);

}  // namespace dapl::cma
