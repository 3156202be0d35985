// SPDX-License-Identifier: BSD-2-Clause
#include "broker/entry.hpp"
#include "dapl/provider/traced.hpp"

namespace dapl::memory {
#define TRACED(name) Traced<&DAT_PROVIDER::name##_func, entry::name>::call

void decorate(DAT_PROVIDER& table) {
    table.evd_dequeue_func = entry::evd_dequeue;
    table.ep_post_send_func = entry::ep_post_send;
    table.ep_post_recv_func = entry::ep_post_recv;
    table.ep_post_rdma_read_func = entry::ep_post_rdma_read;
    table.ep_post_rdma_write_func = entry::ep_post_rdma_write;
    table.ep_post_rdma_read_to_rmr_func = TRACED(ep_post_rdma_read_to_rmr);
    table.srq_post_recv_func = TRACED(srq_post_recv);
    table.srq_free_func = TRACED(srq_free);
    table.pz_free_func = TRACED(pz_free);
    table.lmr_create_func = TRACED(lmr_create);
    table.lmr_free_func = TRACED(lmr_free);
    table.rmr_bind_func = TRACED(rmr_bind);
    table.handle_extendedop_func = TRACED(handle_extendedop);
}

}  // namespace dapl::memory
