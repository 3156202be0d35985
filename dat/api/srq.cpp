// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queues.
#include "dat/api/dispatch.hpp"

using dat::call;
using dat::call_ia;

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR* srq_attr,
                          DAT_SRQ_HANDLE* srq_handle) {
    return call_ia<&DAT_PROVIDER::srq_create_func>(ia_handle, pz_handle, srq_attr, srq_handle);
}

DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
                         DAT_SRQ_PARAM* srq_param) {
    return call<&DAT_PROVIDER::srq_query_func>(DAT_INVALID_HANDLE_SRQ, srq_handle, srq_param_mask,
                                               srq_param);
}

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                             DAT_LMR_TRIPLET* local_iov, DAT_DTO_COOKIE user_cookie) {
    return call<&DAT_PROVIDER::srq_post_recv_func>(DAT_INVALID_HANDLE_SRQ, srq_handle, num_segments,
                                                   local_iov, user_cookie);
}

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT max_recv_dtos) {
    return call<&DAT_PROVIDER::srq_resize_func>(DAT_INVALID_HANDLE_SRQ, srq_handle, max_recv_dtos);
}

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark) {
    return call<&DAT_PROVIDER::srq_set_lw_func>(DAT_INVALID_HANDLE_SRQ, srq_handle, low_watermark);
}

DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle) {
    return call<&DAT_PROVIDER::srq_free_func>(DAT_INVALID_HANDLE_SRQ, srq_handle);
}
