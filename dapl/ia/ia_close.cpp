// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Closing an adapter instance: the one place that walks the ownership tree.
#include "dapl/ia/ia_close.hpp"

#include "broker/client.hpp"
#include "dapl/adapter/service_thread.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/base/process_state.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/ep_numbers.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/evd/agent_thread.hpp"
#include "dapl/evd/cno.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/evd/events.hpp"
#include "dapl/ia/device_events.hpp"
#include "dapl/listen/cr.hpp"
#include "dapl/listen/service_point.hpp"
#include "dapl/memory/lmr.hpp"
#include "dapl/memory/pz.hpp"
#include "dapl/memory/rmr.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/status/server.hpp"

namespace dapl {
namespace {

/// Ends the children one by one, with no lock held. Each removes itself from its list.
/// @param end (T&) -> bool: false if the child has to wait for its peer; it and the rest then stay.
/// @return whether all children have ended.
template <class T, class End>
bool end_all(Ia& ia, List<T> Ia::*children, support::Mutex& mutex, const End& end) EXCLUDES(mutex) {
    for (;;) {
        T* child;
        {
            support::MutexLock lock(mutex);
            child = (ia.*children).first();
        }
        if (!child) return true;
        if (!end(*child)) return false;
    }
}

bool end_lmr(Lmr& lmr) {
    if (!verbs::end(lmr.region)) return false;
    remove_lmr(lmr);
    return true;
}

/// Adapts a function that cannot fail for end_all().
template <class T>
auto always(void (*end)(T&)) {
    return [end](T& child) {
        end(child);
        return true;
    };
}

void end_pz(Pz& pz) {
    {
        support::MutexLock lock(pz.ia.mutex);
        pz.ia.pzs.remove(pz);
    }
    destroy(pz);
}

/// Resets the async EVD of other adapter instances that deliver their events to an EVD of this one.
void withdraw_async_evds(Ia& ia, ProcessState& process) REQUIRES(process.open_mutex) {
    for (Ia* other = process.first_ia; other; other = other->next) {
        Evd* async = async_evd_of(*other);
        if (async && &async->ia == &ia) set_async_evd(*other, nullptr);
    }
}

/// A graceful close requires that every child but the async EVD is gone, and that nobody else uses
/// that EVD.
bool has_children(Ia& ia) {
    const Evd* async = async_evd_of(ia);
    {
        support::MutexLock lock(connection_lock);
        if (ia.eps.first() || ia.service_points.first()) return true;
    }
    support::MutexLock lock(ia.mutex);
    if (ia.pzs.first() || ia.lmrs.first() || ia.rmrs.first() || ia.srqs.first() || ia.cnos.first())
        return true;
    for (const Evd* evd = ia.evds.first(); evd; evd = ia.evds.after(*evd))
        if (evd != async || evd->users > 1) return true;
    return false;
}

/// Whether an agent of the IA makes this call: the library to which the agent returns must not be
/// unloaded.
bool is_closed_by_its_agent(Ia& ia) {
    support::MutexLock lock(ia.mutex);
    for (Cno* cno = ia.cnos.first(); cno; cno = ia.cnos.after(*cno))
        if (cno->is_in_agent()) return true;
    return false;
}

/// Ends waits and agents, with no lock held: an agent may call anything before it returns,
/// including the opening or closing of another adapter instance.
void silence_notification(Ia& ia) {
    for (;;) {
        Cno* cno;
        {
            support::MutexLock lock(ia.mutex);
            cno = ia.cnos.first();
            while (cno && cno->is_dead()) cno = ia.cnos.after(*cno);
            if (cno) cno->pin();
        }
        if (!cno) return;
        cno->silence();
        cno->unpin();
    }
}

DAT_RETURN close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags) {
    Ia* ia = from_handle<Ia>(handle);
    if (!ia) return bad_handle(DAT_INVALID_HANDLE_IA);
    if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG) return bad_argument(2);
    if (is_closed_by_its_agent(*ia)) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    if (flags == DAT_CLOSE_ABRUPT_FLAG) silence_notification(*ia);
    ProcessState& process = process_state();
    {
        support::MutexLock lock(process.open_mutex);
        if (!from_handle<Ia>(handle)) return bad_handle(DAT_INVALID_HANDLE_IA);
        if (flags == DAT_CLOSE_GRACEFUL_FLAG && has_children(*ia))
            return error(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
        revoke(*ia);
    }
    if (!end_transfers(*ia)) {
        admit(*ia, &ia->provider.table);
        return raw(DAT_INVALID_STATE);
    }
    support::MutexLock lock(process.open_mutex);
    tear_down(*ia, process);
    stop_service_if_unused(process);
    return DAT_SUCCESS;
}

}  // namespace

/// Ends users before what they use: service points, then requests, connections and memory.
/// tear_down() continues in the same way, with the EVDs and CNOs last.
bool end_transfers(Ia& ia) {
    if (memory::Registrations* shared = memory::registrations_of(ia)) shared->close();
    close_service_points(ia);
    close_requests(ia);
    return end_all(ia, &Ia::eps, connection_lock, destroy_ep) &&
           end_all(ia, &Ia::rmrs, ia.mutex, free_rmr) && end_all(ia, &Ia::lmrs, ia.mutex, end_lmr);
}

void tear_down(Ia& ia, ProcessState& process) {
    end_all(ia, &Ia::srqs, ia.mutex, always(destroy_srq));
    if (memory::Registrations* shared = memory::registrations_of(ia)) shared->release_all();
    end_all(ia, &Ia::pzs, ia.mutex, always(end_pz));
    DeviceEvents::leave(ia, process);
    set_async_evd(ia, nullptr);
    withdraw_async_evds(ia, process);
    end_all(ia, &Ia::evds, ia.mutex, always(destroy_evd));
    end_all(ia, &Ia::cnos, ia.mutex, always(destroy_cno));
    if (memory::registrations_of(ia)) memory::Client::leave(ia, process);
    for (Ia** link = &process.first_ia; *link; link = &(*link)->next) {
        if (*link != &ia) continue;
        *link = ia.next;
        break;
    }
    destroy(ia);
}

void stop_service_if_unused(ProcessState& process) {
    if (process.first_ia) return;
    delete process.status;
    process.status = nullptr;
    delete process.agents;
    process.agents = nullptr;
    delete process.service;
    process.service = nullptr;
}

namespace entry {

DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags) {
    return uncancelled([=](int) { return close(ia, flags); });
}

}  // namespace entry
}  // namespace dapl
