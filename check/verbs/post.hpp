// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Checks around posts.
#pragma once

#include <infiniband/verbs.h>

#include "check/verbs/checked.hpp"

namespace check::verbs {

/// Checks a list of requests and follows them from here on. @return 0, or the error with which the
/// call must fail; then none is followed.
int begin_requests(ibv_qp* qp, const char* call, Place place, const ibv_send_wr* list);
/// The device has refused these.
void take_back(ibv_qp* qp, const ibv_send_wr* refused);

}  // namespace check::verbs
