// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A copy of an rdma_cm event. The original is acknowledged before anything is done about it, since
/// no id can be destroyed while one of its events is unacknowledged.
#pragma once

#include <rdma/rdma_cma.h>

#include <string>

#include "providers/cma/private_data.hpp"

namespace dapl::cma {

struct Event {
    Event(const rdma_cm_event& event, bool is_infiniband);

    rdma_cm_event_type type;
    int status;      ///< negative errno, or a device's reason for a rejection
    rdma_cm_id* id;  ///< of a request: the new id, which the handler now owns
    bool is_datagram;
    std::uint8_t responder_resources;
    std::uint8_t initiator_depth;
    // Set in an answer to a datagram endpoint:
    ibv_ah_attr way{};
    std::uint32_t qkey = 0;
    ReceivedData data;
};

/// @return the event's name with the error or the reason that the kernel and the device gave.
std::string to_text(const Event& event);

}  // namespace dapl::cma
