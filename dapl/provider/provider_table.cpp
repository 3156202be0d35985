// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The table through which libdat2 calls: a function in each slot, none is NULL.
#include <algorithm>
#include <iterator>

#include "config.h"
#include "dapl/base/pool.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/provider/explain.hpp"
#include "dapl/provider/traced.hpp"
#include "support/thread/thread_errors.hpp"

namespace dapl {
namespace {

constexpr support::ProviderMark make_mark() {
    support::ProviderMark mark{{}, support::thread_errors, PACKAGE_VERSION, explain};
    std::copy(std::begin(support::kProviderMagic), std::end(support::kProviderMagic), mark.magic);
    return mark;
}
constexpr support::ProviderMark kMark = make_mark();

// Functions of the data path are not wrapped: they have trace points of their own, so that they do
// not pay for a second function call.
#define TRACED(name) Traced<&DAT_PROVIDER::name##_func, entry::name>::call

}  // namespace

const DAT_PROVIDER kProviderTable = {
    .device_name = "",
    .extension = const_cast<support::ProviderMark*>(&kMark),
    .ia_open_func = TRACED(ia_open),
    .ia_query_func = TRACED(ia_query),
    .ia_close_func = TRACED(ia_close),
    .set_consumer_context_func = TRACED(set_consumer_context),
    .get_consumer_context_func = TRACED(get_consumer_context),
    .get_handle_type_func = TRACED(get_handle_type),
    .cno_create_func = TRACED(cno_create),
    .cno_modify_agent_func = TRACED(cno_modify_agent),
    .cno_query_func = TRACED(cno_query),
    .cno_free_func = TRACED(cno_free),
    .cno_wait_func = TRACED(cno_wait),
    .cr_query_func = TRACED(cr_query),
    .cr_accept_func = TRACED(cr_accept),
    .cr_reject_func = TRACED(cr_reject),
    .cr_handoff_func = TRACED(cr_handoff),
    .evd_create_func = TRACED(evd_create),
    .evd_query_func = TRACED(evd_query),
    .evd_modify_cno_func = TRACED(evd_modify_cno),
    .evd_enable_func = TRACED(evd_enable),
    .evd_disable_func = TRACED(evd_disable),
    .evd_wait_func = TRACED(evd_wait),
    .evd_resize_func = TRACED(evd_resize),
    .evd_post_se_func = TRACED(evd_post_se),
    .evd_dequeue_func = entry::evd_dequeue,
    .evd_free_func = TRACED(evd_free),
    .ep_create_func = TRACED(ep_create),
    .ep_query_func = TRACED(ep_query),
    .ep_modify_func = TRACED(ep_modify),
    .ep_connect_func = TRACED(ep_connect),
    .ep_dup_connect_func = TRACED(ep_dup_connect),
    .ep_disconnect_func = TRACED(ep_disconnect),
    .ep_post_send_func = entry::ep_post_send,
    .ep_post_recv_func = entry::ep_post_recv,
    .ep_post_rdma_read_func = entry::ep_post_rdma_read,
    .ep_post_rdma_write_func = entry::ep_post_rdma_write,
    .ep_get_status_func = TRACED(ep_get_status),
    .ep_free_func = TRACED(ep_free),
    .lmr_create_func = TRACED(lmr_create),
    .lmr_query_func = TRACED(lmr_query),
    .lmr_free_func = TRACED(lmr_free),
    .rmr_create_func = TRACED(rmr_create),
    .rmr_query_func = TRACED(rmr_query),
    .rmr_bind_func = TRACED(rmr_bind),
    .rmr_free_func = TRACED(rmr_free),
    .psp_create_func = TRACED(psp_create),
    .psp_query_func = TRACED(psp_query),
    .psp_free_func = TRACED(psp_free),
    .rsp_create_func = TRACED(rsp_create),
    .rsp_query_func = TRACED(rsp_query),
    .rsp_free_func = TRACED(rsp_free),
    .pz_create_func = TRACED(pz_create),
    .pz_query_func = TRACED(pz_query),
    .pz_free_func = TRACED(pz_free),
    .psp_create_any_func = TRACED(psp_create_any),
    .ep_reset_func = TRACED(ep_reset),
    .evd_set_unwaitable_func = TRACED(evd_set_unwaitable),
    .evd_clear_unwaitable_func = TRACED(evd_clear_unwaitable),
    .lmr_sync_rdma_read_func = TRACED(lmr_sync_rdma_read),
    .lmr_sync_rdma_write_func = TRACED(lmr_sync_rdma_write),
    .ep_create_with_srq_func = TRACED(ep_create_with_srq),
    .ep_recv_query_func = TRACED(ep_recv_query),
    .ep_set_watermark_func = TRACED(ep_set_watermark),
    .srq_create_func = TRACED(srq_create),
    .srq_free_func = TRACED(srq_free),
    .srq_post_recv_func = TRACED(srq_post_recv),
    .srq_query_func = TRACED(srq_query),
    .srq_resize_func = TRACED(srq_resize),
    .srq_set_lw_func = TRACED(srq_set_lw),
    .csp_create_func = TRACED(csp_create),
    .csp_query_func = TRACED(csp_query),
    .csp_free_func = TRACED(csp_free),
    .ep_common_connect_func = TRACED(ep_common_connect),
    .rmr_create_for_ep_func = TRACED(rmr_create_for_ep),
    .ep_post_send_with_invalidate_func = TRACED(ep_post_send_with_invalidate),
    .ep_post_rdma_read_to_rmr_func = TRACED(ep_post_rdma_read_to_rmr),
    .cno_fd_create_func = TRACED(cno_fd_create),
    .cno_trigger_func = TRACED(cno_trigger),
    .ia_ha_related_func = TRACED(ia_ha_related),
    .handle_extendedop_func = TRACED(handle_extendedop),
};

}  // namespace dapl
