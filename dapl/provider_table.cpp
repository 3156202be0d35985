// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The table that libdat2 jumps through: one function for each slot, none is NULL.
#include <algorithm>
#include <iterator>

#include "dapl/entry.hpp"
#include "dapl/pool.hpp"
#include "dapl/support/thread_errors.hpp"

namespace dapl {
namespace {

constexpr support::ProviderMark make_mark() {
    support::ProviderMark mark{{}, support::thread_errors};
    std::copy(std::begin(support::kProviderMagic), std::end(support::kProviderMagic), mark.magic);
    return mark;
}
constexpr support::ProviderMark kMark = make_mark();

}  // namespace

const DAT_PROVIDER kProviderTable = {
    .device_name = "",
    .extension = const_cast<support::ProviderMark*>(&kMark),
    .ia_open_func = entry::ia_open,
    .ia_query_func = entry::ia_query,
    .ia_close_func = entry::ia_close,
    .set_consumer_context_func = entry::set_consumer_context,
    .get_consumer_context_func = entry::get_consumer_context,
    .get_handle_type_func = entry::get_handle_type,
    .cno_create_func = entry::cno_create,
    .cno_modify_agent_func = entry::cno_modify_agent,
    .cno_query_func = entry::cno_query,
    .cno_free_func = entry::cno_free,
    .cno_wait_func = entry::cno_wait,
    .cr_query_func = entry::cr_query,
    .cr_accept_func = entry::cr_accept,
    .cr_reject_func = entry::cr_reject,
    .cr_handoff_func = entry::cr_handoff,
    .evd_create_func = entry::evd_create,
    .evd_query_func = entry::evd_query,
    .evd_modify_cno_func = entry::evd_modify_cno,
    .evd_enable_func = entry::evd_enable,
    .evd_disable_func = entry::evd_disable,
    .evd_wait_func = entry::evd_wait,
    .evd_resize_func = entry::evd_resize,
    .evd_post_se_func = entry::evd_post_se,
    .evd_dequeue_func = entry::evd_dequeue,
    .evd_free_func = entry::evd_free,
    .ep_create_func = entry::ep_create,
    .ep_query_func = entry::ep_query,
    .ep_modify_func = entry::ep_modify,
    .ep_connect_func = entry::ep_connect,
    .ep_dup_connect_func = entry::ep_dup_connect,
    .ep_disconnect_func = entry::ep_disconnect,
    .ep_post_send_func = entry::ep_post_send,
    .ep_post_recv_func = entry::ep_post_recv,
    .ep_post_rdma_read_func = entry::ep_post_rdma_read,
    .ep_post_rdma_write_func = entry::ep_post_rdma_write,
    .ep_get_status_func = entry::ep_get_status,
    .ep_free_func = entry::ep_free,
    .lmr_create_func = entry::lmr_create,
    .lmr_query_func = entry::lmr_query,
    .lmr_free_func = entry::lmr_free,
    .rmr_create_func = entry::rmr_create,
    .rmr_query_func = entry::rmr_query,
    .rmr_bind_func = entry::rmr_bind,
    .rmr_free_func = entry::rmr_free,
    .psp_create_func = entry::psp_create,
    .psp_query_func = entry::psp_query,
    .psp_free_func = entry::psp_free,
    .rsp_create_func = entry::rsp_create,
    .rsp_query_func = entry::rsp_query,
    .rsp_free_func = entry::rsp_free,
    .pz_create_func = entry::pz_create,
    .pz_query_func = entry::pz_query,
    .pz_free_func = entry::pz_free,
    .psp_create_any_func = entry::psp_create_any,
    .ep_reset_func = entry::ep_reset,
    .evd_set_unwaitable_func = entry::evd_set_unwaitable,
    .evd_clear_unwaitable_func = entry::evd_clear_unwaitable,
    .lmr_sync_rdma_read_func = entry::lmr_sync_rdma_read,
    .lmr_sync_rdma_write_func = entry::lmr_sync_rdma_write,
    .ep_create_with_srq_func = entry::ep_create_with_srq,
    .ep_recv_query_func = entry::ep_recv_query,
    .ep_set_watermark_func = entry::ep_set_watermark,
    .srq_create_func = entry::srq_create,
    .srq_free_func = entry::srq_free,
    .srq_post_recv_func = entry::srq_post_recv,
    .srq_query_func = entry::srq_query,
    .srq_resize_func = entry::srq_resize,
    .srq_set_lw_func = entry::srq_set_lw,
    .csp_create_func = entry::csp_create,
    .csp_query_func = entry::csp_query,
    .csp_free_func = entry::csp_free,
    .ep_common_connect_func = entry::ep_common_connect,
    .rmr_create_for_ep_func = entry::rmr_create_for_ep,
    .ep_post_send_with_invalidate_func = entry::ep_post_send_with_invalidate,
    .ep_post_rdma_read_to_rmr_func = entry::ep_post_rdma_read_to_rmr,
    .cno_fd_create_func = entry::cno_fd_create,
    .cno_trigger_func = entry::cno_trigger,
    .ia_ha_related_func = entry::ia_ha_related,
    .handle_extendedop_func = entry::handle_extendedop,
};

}  // namespace dapl
