// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// From a verbs completion to a DAT event.
#pragma once

#include <infiniband/verbs.h>

#include "dapl/dat.hpp"

namespace dapl {

/// @return whether the completion belongs to a queue pair that an EP still has. With the lock of
/// the EVD held that takes it.
bool is_current(const ibv_wc& completion);

/// @return whether it is that of a marker, of which no event comes; its EP is told. With the lock
/// of the EVD held.
bool take_marker(const ibv_wc& completion);

/// Frees the slot of a current completion and writes its event, all but evd_handle.
/// @return the EP when its transfer failed (flushes not counted), else NULL.
DAT_EP_HANDLE take_completion(const ibv_wc& completion, DAT_EVENT& event);

/// What a verbs status means to a consumer.
DAT_DTO_COMPLETION_STATUS dto_status(ibv_wc_status status);

}  // namespace dapl
