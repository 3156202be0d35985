// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Connection requests.
#include "dat/api/dispatch.hpp"

using dat::call;

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
                        DAT_CR_PARAM* cr_param) {
    return call<&DAT_PROVIDER::cr_query_func>(DAT_INVALID_HANDLE_CR, cr_handle, cr_param_mask,
                                              cr_param);
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
                         DAT_COUNT private_data_size, const DAT_PVOID private_data) {
    return call<&DAT_PROVIDER::cr_accept_func>(DAT_INVALID_HANDLE_CR, cr_handle, ep_handle,
                                               private_data_size, private_data);
}

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
                         const DAT_PVOID private_data) {
    return call<&DAT_PROVIDER::cr_reject_func>(DAT_INVALID_HANDLE_CR, cr_handle, private_data_size,
                                               private_data);
}

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL conn_qual) {
    return call<&DAT_PROVIDER::cr_handoff_func>(DAT_INVALID_HANDLE_CR, cr_handle, conn_qual);
}
