// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Protection zones.
#include "dat/api/dispatch.hpp"

using dat::call;
using dat::call_ia;

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE* pz_handle) {
    return call_ia<&DAT_PROVIDER::pz_create_func>(ia_handle, pz_handle);
}

DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
                        DAT_PZ_PARAM* pz_param) {
    return call<&DAT_PROVIDER::pz_query_func>(DAT_INVALID_HANDLE_PZ, pz_handle, pz_param_mask,
                                              pz_param);
}

DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle) {
    return call<&DAT_PROVIDER::pz_free_func>(DAT_INVALID_HANDLE_PZ, pz_handle);
}
