// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls that take a handle of any kind.
#include "dat/api/dispatch.hpp"

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context) {
    return dat::call_any<&DAT_PROVIDER::set_consumer_context_func>(dat_handle, context);
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT* context) {
    return dat::call_any<&DAT_PROVIDER::get_consumer_context_func>(dat_handle, context);
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE* handle_type) {
    return dat::call_any<&DAT_PROVIDER::get_handle_type_func>(dat_handle, handle_type);
}
