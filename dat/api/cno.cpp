// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Consumer notification objects.
#include "dat/api/dispatch.hpp"

using dat::call;
using dat::call_ia;
using dat::call_waiting;

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
                          DAT_CNO_HANDLE* cno_handle) {
    return call_ia<&DAT_PROVIDER::cno_create_func>(ia_handle, agent, cno_handle);
}

DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD* file_descriptor,
                             DAT_CNO_HANDLE* cno_handle) {
    return call_ia<&DAT_PROVIDER::cno_fd_create_func>(ia_handle, file_descriptor, cno_handle);
}

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent) {
    return call<&DAT_PROVIDER::cno_modify_agent_func>(DAT_INVALID_HANDLE_CNO, cno_handle, agent);
}

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
                         DAT_CNO_PARAM* cno_param) {
    return call<&DAT_PROVIDER::cno_query_func>(DAT_INVALID_HANDLE_CNO, cno_handle, cno_param_mask,
                                               cno_param);
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
                        DAT_EVD_HANDLE* evd_handle) {
    return call_waiting<&DAT_PROVIDER::cno_wait_func>(DAT_INVALID_HANDLE_CNO, cno_handle, timeout,
                                                      evd_handle);
}

DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE* evd_handle) {
    return call<&DAT_PROVIDER::cno_trigger_func>(DAT_INVALID_HANDLE_CNO, cno_handle, evd_handle);
}

DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle) {
    return call<&DAT_PROVIDER::cno_free_func>(DAT_INVALID_HANDLE_CNO, cno_handle);
}
