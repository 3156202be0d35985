// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Reserved service points.
#include "dat/api/dispatch.hpp"

using dat::call;
using dat::call_ia;

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
                          DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE* rsp_handle) {
    return call_ia<&DAT_PROVIDER::rsp_create_func>(ia_handle, conn_qual, ep_handle, evd_handle,
                                                   rsp_handle);
}

DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
                         DAT_RSP_PARAM* rsp_param) {
    return call<&DAT_PROVIDER::rsp_query_func>(DAT_INVALID_HANDLE_RSP, rsp_handle, rsp_param_mask,
                                               rsp_param);
}

DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle) {
    return call<&DAT_PROVIDER::rsp_free_func>(DAT_INVALID_HANDLE_RSP, rsp_handle);
}
