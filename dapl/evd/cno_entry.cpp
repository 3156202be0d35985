// SPDX-License-Identifier: BSD-2-Clause
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/evd/agent_thread.hpp"
#include "dapl/evd/cno.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/provider/entry.hpp"

namespace dapl {

void destroy_cno(Cno& cno) {
    revoke(cno);
    cno.silence();
    cno.await_quiet();
    {
        support::MutexLock lock(cno.ia.mutex);
        cno.ia.cnos.remove(cno);
    }
    destroy(cno);
}

namespace entry {
namespace {

constexpr DAT_FD kNoDescriptor = -1;

/// Throws std::bad_alloc.
DAT_CNO_HANDLE add(Ia& ia, const DAT_OS_WAIT_PROXY_AGENT& agent, DAT_FD descriptor) {
    Cno* cno = make<Cno>(&ia.provider.table, ia, agent, descriptor);
    support::MutexLock lock(ia.mutex);
    ia.cnos.add(*cno);
    return cno->handle();
}

DAT_RETURN create(DAT_IA_HANDLE ia_handle, const DAT_OS_WAIT_PROXY_AGENT& agent,
                  DAT_CNO_HANDLE* handle) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (!handle) return bad_argument(3);
    if (agent.proxy_agent_func && !ia->agents().start()) return kOutOfMemory;
    *handle = add(*ia, agent, kNoDescriptor);
    return DAT_SUCCESS;
}

DAT_RETURN create_with_descriptor(DAT_IA_HANDLE ia_handle, DAT_FD* descriptor,
                                  DAT_CNO_HANDLE* handle) {
    Ia* ia = from_handle<Ia>(ia_handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (!descriptor) return bad_argument(2);
    if (!handle) return bad_argument(3);
    const DAT_FD made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made < 0) return refused_by_system(errno, "a CNO").value().code;
    try {
        *handle = add(*ia, {}, made);
    } catch (...) {
        ::close(made);
        throw;
    }
    *descriptor = made;
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

DAT_RETURN cno_fd_create(DAT_IA_HANDLE ia, DAT_FD* descriptor, DAT_CNO_HANDLE* cno) {
    return uncancelled([=](int) { return create_with_descriptor(ia, descriptor, cno); });
}

DAT_RETURN cno_free(DAT_CNO_HANDLE cno) {
    return uncancelled([=](int) { return free(cno); });
}

DAT_RETURN cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent) {
    Cno* cno = from_handle<Cno>(handle);
    if (!cno) return bad_handle(DAT_INVALID_HANDLE_CNO);
    return cno->set_agent(agent);
}

DAT_RETURN cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM* parameters) {
    Cno* cno = from_handle<Cno>(handle);
    if (!cno) return bad_handle(DAT_INVALID_HANDLE_CNO);
    if (!parameters) return bad_argument(3);
    cno->query(*parameters);
    return DAT_SUCCESS;
}

DAT_RETURN cno_trigger(DAT_CNO_HANDLE handle, DAT_EVD_HANDLE* evd) {
    return uncancelled([=](int old_cancel_state) {
        Cno* cno = from_handle<Cno>(handle);
        if (!cno) return bad_handle(DAT_INVALID_HANDLE_CNO);
        if (!evd) return bad_argument(2);
        return cno->wait(0, old_cancel_state, evd);
    });
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
