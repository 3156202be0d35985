// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The functions that programs call through a context, with checks around them.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace check::verbs {

/// The device's own functions: all contexts of soft0 have the same. Set before the checks are put
/// around the first context, and then constant.
struct Originals {
    decltype(ibv_context_ops::poll_cq) poll_cq;
    decltype(ibv_context_ops::post_send) post_send;
    decltype(ibv_context_ops::post_recv) post_recv;
    decltype(ibv_context_ops::post_srq_recv) post_srq_recv;
    decltype(ibv_context_ops::bind_mw) bind_mw;
    decltype(verbs_context::create_cq_ex) create_cq_ex;
    decltype(verbs_context::create_qp_ex) create_qp_ex;
    decltype(verbs_context::create_srq_ex) create_srq_ex;
    decltype(verbs_context::open_qp) open_qp;
    decltype(verbs_context::reg_dm_mr) reg_dm_mr;
};
const Originals& originals();

/// The functions with checks.
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);
int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* request);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access);

/// Puts checks around the functions of one extended object.
void watch(ibv_cq_ex* cq, bool is_of_one_thread);
void watch(ibv_qp_ex* qp);

}  // namespace check::verbs
