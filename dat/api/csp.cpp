// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Common service points.
#include "dat/api/dispatch.hpp"

using dat::call;
using dat::call_ia;

DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM* comm, DAT_IA_ADDRESS_PTR ia_address,
                          DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE* csp_handle) {
    return call_ia<&DAT_PROVIDER::csp_create_func>(ia_handle, comm, ia_address, evd_handle,
                                                   csp_handle);
}

DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
                         DAT_CSP_PARAM* csp_param) {
    return call<&DAT_PROVIDER::csp_query_func>(DAT_INVALID_HANDLE_CSP, csp_handle, csp_param_mask,
                                               csp_param);
}

DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle) {
    return call<&DAT_PROVIDER::csp_free_func>(DAT_INVALID_HANDLE_CSP, csp_handle);
}
