// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Which changes of a queue pair's state there are, by its type, and which attributes come with
/// them.
#pragma once

#include <infiniband/verbs.h>

namespace softverbs {

/// @param mask IBV_QP_* bits: what ibv_modify_qp was given. @return whether this is a change that
/// the type has, with the attributes that it needs.
bool is_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask);

}  // namespace softverbs
