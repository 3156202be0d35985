// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions that create extended objects, called through verbs_context.
#pragma once

#include <infiniband/verbs.h>

namespace softverbs {

/// ibv_create_cq_ex. @return nullptr with errno: EOPNOTSUPP for timestamps, VLAN, flow tags, tag
/// matching and ignored overruns.
ibv_cq_ex* create_extended_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes);

/// ibv_create_qp_ex. With IBV_QP_INIT_ATTR_SEND_OPS_FLAGS the queue pair accepts the calls that
/// build sends one by one (ibv_wr_start to ibv_wr_complete). @return nullptr with errno: EOPNOTSUPP
/// for XRC domains, creation flags, segmentation offload and features for raw packets.
ibv_qp* create_extended_qp(ibv_context* context, ibv_qp_init_attr_ex* attributes);

}  // namespace softverbs
