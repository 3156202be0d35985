// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Some devices know more about the end of a connection than the status of a completion tells:
/// soft0 knows which check failed and how the peer's process ended.
#pragma once

#include <optional>
#include <string>

#include "dapl/verbs/device_extensions.hpp"

namespace dapl {

struct DeviceFailure {
    std::string text;  ///< "the peer's LMR with the rmr_context 0x2103 does not allow RDMA writes"
    const char* next_step;  ///< advice for the user
    bool asked_by_peer;     ///< it was the peer's request that failed
    /// The peer was ended by a signal: not an end that its program chose.
    bool peer_was_killed;
    bool of_receive;  ///< a message of the peer's came, and its receive's memory cannot be written
};

/// @param qp may be nullptr. @return nothing where the device does not know. Throws std::bad_alloc.
std::optional<DeviceFailure> device_failure(const verbs::DeviceExtensions& device, ibv_qp* qp);

}  // namespace dapl
