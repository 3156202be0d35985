// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The state transitions of a queue pair, by its type, and the attributes that each needs or
/// permits.
#pragma once

#include <infiniband/verbs.h>

namespace softverbs {

/// @param mask IBV_QP_* bits, as given to ibv_modify_qp.
/// @return whether the type has this transition, and takes it with these attributes.
bool is_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask);

}  // namespace softverbs
