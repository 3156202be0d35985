// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/provider/aix_profile.hpp"

#include "dapl/base/codes.hpp"

namespace dapl {
namespace {

template <DAT_RETURN_TYPE type, class... Arguments>
void refuse(DAT_RETURN (*&function)(Arguments...)) {
    function = [](Arguments...) -> DAT_RETURN { return error(type); };
}

}  // namespace

void limit_to_aix(DAT_PROVIDER& table) {
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.srq_create_func);
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.srq_free_func);
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.srq_post_recv_func);
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.srq_query_func);
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.srq_resize_func);
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.srq_set_lw_func);
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.ep_create_with_srq_func);
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.ep_recv_query_func);
    refuse<DAT_MODEL_NOT_SUPPORTED>(table.ep_set_watermark_func);
    refuse<DAT_NOT_IMPLEMENTED>(table.cr_handoff_func);
    refuse<DAT_NOT_IMPLEMENTED>(table.lmr_sync_rdma_read_func);
    refuse<DAT_NOT_IMPLEMENTED>(table.lmr_sync_rdma_write_func);
}

void limit_to_aix(DAT_IA_ATTR& attributes) {
    attributes.max_srqs = 0;
    attributes.max_ep_per_srq = 0;
    attributes.max_recv_per_srq = 0;
}

void limit_to_aix(DAT_PROVIDER_ATTR& attributes) {
    attributes.srq_supported = DAT_FALSE;
    attributes.srq_watermarks_supported = 0;
    attributes.srq_ep_pz_difference_supported = DAT_FALSE;
    attributes.srq_info_supported = 0;
    attributes.ep_recv_info_supported = 0;
}

}  // namespace dapl
