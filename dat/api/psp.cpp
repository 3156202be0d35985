// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Public service points.
#include "dat/api/dispatch.hpp"

using dat::call;
using dat::call_ia;

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
                          DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
                          DAT_PSP_HANDLE* psp_handle) {
    return call_ia<&DAT_PROVIDER::psp_create_func>(ia_handle, conn_qual, evd_handle, psp_flags,
                                                   psp_handle);
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL* conn_qual,
                              DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
                              DAT_PSP_HANDLE* psp_handle) {
    return call_ia<&DAT_PROVIDER::psp_create_any_func>(ia_handle, conn_qual, evd_handle, psp_flags,
                                                       psp_handle);
}

DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
                         DAT_PSP_PARAM* psp_param) {
    return call<&DAT_PROVIDER::psp_query_func>(DAT_INVALID_HANDLE_PSP, psp_handle, psp_param_mask,
                                               psp_param);
}

DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle) {
    return call<&DAT_PROVIDER::psp_free_func>(DAT_INVALID_HANDLE_PSP, psp_handle);
}
