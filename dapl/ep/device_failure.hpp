// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Failure details beyond the status of a completion, from devices that have them: soft0 reports
/// which check failed and how the peer's process ended.
#pragma once

#include <optional>
#include <string>

#include "dapl/verbs/device_extensions.hpp"

namespace dapl {

struct DeviceFailure {
    std::string text;  ///< "the peer's LMR with the rmr_context 0x2103 does not allow RDMA writes"
    const char* next_step;  ///< advice for the user
    bool asked_by_peer;     ///< the peer's request failed here
    /// A signal ended the peer's process, so its program did not choose the end.
    bool peer_was_killed;
    bool of_receive;  ///< a message arrived whose receive's memory cannot be written
};

/// @param qp may be nullptr. @return nothing if the device has no details. Throws std::bad_alloc.
std::optional<DeviceFailure> device_failure(const verbs::DeviceExtensions& device, ibv_qp* qp);

}  // namespace dapl
