// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the device's status of a completion is for the consumer
/// (support/base/completion_statuses.def).
#pragma once

#include <dat2/udat.h>
#include <infiniband/verbs.h>

namespace dapl {

struct CompletionStatus {
    DAT_DTO_COMPLETION_STATUS dat;
    const char* text;       ///< "remote access error"
    const char* next_step;  ///< what the user does about it
};

/// A status that no release of verbs has had so far is a general error.
const CompletionStatus& completion_status(ibv_wc_status status);

inline DAT_DTO_COMPLETION_STATUS dto_status(ibv_wc_status status) {
    return status == IBV_WC_SUCCESS ? DAT_DTO_SUCCESS : completion_status(status).dat;
}

}  // namespace dapl
