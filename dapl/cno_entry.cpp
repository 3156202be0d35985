// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/cno.hpp"
#include "dapl/entry.hpp"
#include "dapl/events.hpp"
#include "dapl/guard.hpp"
#include "dapl/ia.hpp"
#include "dapl/pool.hpp"

namespace dapl {

void destroy_cno(Cno& cno) {
    revoke(cno);
    cno.expel_waiters();
    {
        support::MutexLock lock(cno.ia.mutex);
        cno.ia.cnos.remove(cno);
    }
    destroy(cno);
}

namespace entry {
namespace {

DAT_RETURN create(DAT_IA_HANDLE ia_handle, const DAT_OS_WAIT_PROXY_AGENT& agent,
                  DAT_CNO_HANDLE* handle) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (!handle) return bad_argument(3);
    Cno* cno = make<Cno>(&ia->provider.table, *ia, agent);
    support::MutexLock lock(ia->mutex);
    ia->cnos.add(*cno);
    *handle = cno->handle();
    return DAT_SUCCESS;
}

DAT_RETURN free(DAT_CNO_HANDLE handle) {
    Cno* cno = from_handle<Cno>(handle);
    if (!cno) return bad_handle(DAT_INVALID_HANDLE_CNO);
    if (cno->in_use()) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
    destroy_cno(*cno);
    return DAT_SUCCESS;
}

}  // namespace

DAT_RETURN cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE* cno) {
    return uncancelled([=](int) { return create(ia, agent, cno); });
}

DAT_RETURN cno_free(DAT_CNO_HANDLE cno) {
    return uncancelled([=](int) { return free(cno); });
}

DAT_RETURN cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent) {
    Cno* cno = from_handle<Cno>(handle);
    if (!cno) return bad_handle(DAT_INVALID_HANDLE_CNO);
    cno->set_agent(agent);
    return DAT_SUCCESS;
}

DAT_RETURN cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM* parameters) {
    Cno* cno = from_handle<Cno>(handle);
    if (!cno) return bad_handle(DAT_INVALID_HANDLE_CNO);
    if (!parameters) return bad_argument(3);
    parameters->ia_handle = consumer_handle(cno->ia);
    parameters->proxy_type = DAT_PROXY_TYPE_AGENT;
    parameters->proxy.agent = cno->agent();
    return DAT_SUCCESS;
}

DAT_RETURN cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE* evd) {
    return uncancelled([=](int old_cancel_state) {
        Cno* cno = from_handle<Cno>(handle);
        if (!cno) return raw(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
        if (!evd) return bad_argument(3);
        return cno->wait(timeout, old_cancel_state, evd);
    });
}

}  // namespace entry
}  // namespace dapl
