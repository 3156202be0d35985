// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Event dispatchers. A thread may be cancelled in dat_evd_wait, so nothing here is noexcept.
#include "dat/api/dispatch.hpp"

using dat::call;
using dat::call_ia;
using dat::call_waiting;

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
                          DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
                          DAT_EVD_HANDLE* evd_handle) {
    return call_ia<&DAT_PROVIDER::evd_create_func>(ia_handle, evd_min_qlen, cno_handle, evd_flags,
                                                   evd_handle);
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
                         DAT_EVD_PARAM* evd_param) {
    return call<&DAT_PROVIDER::evd_query_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle,
                                               evd_param_mask, evd_param);
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle) {
    return call<&DAT_PROVIDER::evd_modify_cno_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle,
                                                    cno_handle);
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                        DAT_EVENT* event, DAT_COUNT* nmore) {
    return call_waiting<&DAT_PROVIDER::evd_wait_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle,
                                                      timeout, threshold, event, nmore);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT* event) {
    return call<&DAT_PROVIDER::evd_dequeue_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle, event);
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT* event) {
    return call<&DAT_PROVIDER::evd_post_se_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle, event);
}

DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle) {
    return call<&DAT_PROVIDER::evd_enable_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle);
}

DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle) {
    return call<&DAT_PROVIDER::evd_disable_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle);
}

DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle) {
    return call<&DAT_PROVIDER::evd_set_unwaitable_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle);
}

DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle) {
    return call<&DAT_PROVIDER::evd_clear_unwaitable_func>(DAT_INVALID_HANDLE_EVD_REQUEST,
                                                          evd_handle);
}

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_qlen) {
    return call<&DAT_PROVIDER::evd_resize_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle,
                                                evd_qlen);
}

DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle) {
    return call<&DAT_PROVIDER::evd_free_func>(DAT_INVALID_HANDLE_EVD_REQUEST, evd_handle);
}
