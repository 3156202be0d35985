// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Queries of an open IA; opening and closing are in ia_open.cpp.
#include "dat/api/dispatch.hpp"

using dat::call_ia;

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE* async_evd_handle,
                        DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR* ia_attr,
                        DAT_PROVIDER_ATTR_MASK provider_attr_mask,
                        DAT_PROVIDER_ATTR* provider_attr) {
    return call_ia<&DAT_PROVIDER::ia_query_func>(ia_handle, async_evd_handle, ia_attr_mask, ia_attr,
                                                 provider_attr_mask, provider_attr);
}
