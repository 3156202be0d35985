// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Translates the status of a verbs completion into DAT's, with a text and advice for messages
/// (support/base/completion_statuses.def).
#pragma once

#include <dat2/udat.h>
#include <infiniband/verbs.h>

namespace dapl {

struct CompletionStatus {
    DAT_DTO_COMPLETION_STATUS dat;
    const char* text;       ///< "remote access error"
    const char* next_step;  ///< advice to the user
};

/// A status unknown to this version counts as IBV_WC_GENERAL_ERR.
const CompletionStatus& completion_status(ibv_wc_status status);

inline DAT_DTO_COMPLETION_STATUS dto_status(ibv_wc_status status) {
    return status == IBV_WC_SUCCESS ? DAT_DTO_SUCCESS : completion_status(status).dat;
}

}  // namespace dapl
