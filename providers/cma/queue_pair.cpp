// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/queue_pair.hpp"

#include <cerrno>

namespace dapl::cma {
namespace {

/// Mask bits that verbs do not define: for some years kernels returned the Ethernet addresses of
/// RoCE under them, but then accepted them from no user.
constexpr int kNotForUsers = 0xe00000;

/// @return errno, 0 for success.
int move_to(rdma_cm_id* id, const QueuePairMove& move, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    int mask = 0;
    if (rdma_init_qp_attr(id, &attributes, &mask) != 0) return errno;
    if (move.reads) {
        attributes.max_dest_rd_atomic = move.reads->served;
        attributes.max_rd_atomic = move.reads->asked;
    }
    return ibv_modify_qp(move.qp, &attributes, mask & ~kNotForUsers);
}

}  // namespace

int make_ready(rdma_cm_id* id, const QueuePairMove& move) {
    if (!move.keeps_init)
        if (const int error = move_to(id, move, IBV_QPS_INIT)) return error;
    for (const ibv_qp_state state : {IBV_QPS_RTR, IBV_QPS_RTS})
        if (const int error = move_to(id, move, state)) return error;
    return 0;
}

void set_error_state(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
}

std::optional<std::uint16_t> partition_index(rdma_cm_id* id) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    int mask = 0;
    if (rdma_init_qp_attr(id, &attributes, &mask) != 0 || (mask & IBV_QP_PKEY_INDEX) == 0)
        return std::nullopt;
    return attributes.pkey_index;
}

}  // namespace dapl::cma
