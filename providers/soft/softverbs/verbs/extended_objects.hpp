// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions that create extended objects, called through verbs_context.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softverbs {

/// ibv_create_cq_ex. @return nullptr with errno: EOPNOTSUPP for VLAN, flow tags, tag matching
/// and ignored overruns.
ibv_cq_ex* create_extended_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes);

/// ibv_modify_cq: moderation. A limit of 0 does not exist. @return 0 or an errno: EINVAL when no
/// attribute is named, EOPNOTSUPP for unknown ones.
int modify_completion_queue(ibv_cq* cq, ibv_modify_cq_attr* attributes);

/// ibv_create_qp_ex. With IBV_QP_INIT_ATTR_SEND_OPS_FLAGS the queue pair accepts the calls that
/// build sends one by one (ibv_wr_start to ibv_wr_complete). @return nullptr with errno: EOPNOTSUPP
/// for creation flags, segmentation offload and features for raw packets.
ibv_qp* create_extended_qp(ibv_context* context, ibv_qp_init_attr_ex* attributes);

/// ibv_open_qp. @return nullptr with errno.
ibv_qp* open_queue_pair(ibv_context* context, ibv_qp_open_attr* attributes);

/// ibv_create_srq_ex, for plain and XRC queues. @return nullptr with errno: EOPNOTSUPP for tag
/// matching.
ibv_srq* create_extended_srq(ibv_context* context, ibv_srq_init_attr_ex* attributes);
/// ibv_get_srq_num. @return 0, or EINVAL for a queue that has no number.
int get_srq_number(ibv_srq* srq, std::uint32_t* number);

}  // namespace softverbs
