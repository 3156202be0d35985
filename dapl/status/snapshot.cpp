// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/status/snapshot.hpp"

#include <time.h>

#include "dapl/ia.hpp"
#include "dapl/process_state.hpp"

namespace dapl::status {
namespace {

/// A process that hangs may hold a lock for ever: the answer says so instead of hanging too.
bool lock_soon(support::Mutex& mutex) TRY_ACQUIRE(true, mutex) {
    constexpr int kTries = 100;
    const timespec pause{0, 1'000'000};
    for (int tries = 0; tries < kTries; ++tries) {
        if (mutex.try_lock()) return true;
        nanosleep(&pause, nullptr);
    }
    return false;
}

template <class T>
std::uint64_t id_or_none(const T* object) {
    return object ? object->id() : 0;
}

template <class T, class Each>
std::uint64_t for_each(const List<T>& list, const Each& each) {
    std::uint64_t count = 0;
    for (T* item = list.first(); item; item = list.after(*item), ++count) each(*item);
    return count;
}

SideStatus look_at(const Ep::Side& side, DAT_COUNT limit, const Evd* evd) {
    SideStatus found;
    found.work = side.slots.look();
    found.limit = static_cast<std::uint32_t>(limit);
    found.taken = found.work.oldest;
    found.evd = id_or_none(evd);
    return found;
}

EpStatus look_at(Ep& ep) REQUIRES(connection_lock) {
    EpStatus found{};
    found.id = ep.id();
    found.state = ep.state.get();
    found.is_datagram = ep.ud != nullptr;
    found.peer = ep.connection.remote_address;
    found.local_port = ep.connection.local_port_qual;
    found.peer_port = ep.connection.remote_port_qual;
    found.connect_evd = id_or_none(ep.parts.connect_evd);
    found.requests = look_at(ep.requests, ep.attributes.max_request_dtos, ep.parts.request_evd);
    found.receives = look_at(ep.receives, ep.attributes.max_recv_dtos, ep.parts.recv_evd);
    found.history = ep.state.history();
    for (int which = 0; which < DCNT_EP_ALL_COUNTERS; ++which)
        found.counters[which] = ep.counters.value(which);
    if (ep.shared) {
        found.srq = ep.shared->srq.id();
        found.receives.limit = 0;
        for (const int which :
             {DCNT_EP_RECV, DCNT_EP_RECV_IMM, DCNT_EP_RECV_UD, DCNT_EP_RECV_RDMA_IMM})
            found.receives.taken += found.counters[which];
    }
    return found;
}

EvdStatus look_at(const Evd& evd, const List<Cno>& cnos) {
    const Evd::Look look = evd.look();
    EvdStatus found{};
    found.id = evd.id();
    found.flags = evd.flags;
    found.length = look.length;
    found.pending = look.pending;
    found.waited_on = look.waited_on;
    found.lost_events = look.lost_events;
    for_each(cnos, [&](const Cno& cno) {
        if (&cno == look.cno) found.cno = cno.id();
    });
    for (int which = 0; which < DCNT_EVD_ALL_COUNTERS; ++which)
        found.counters[which] = evd.counters.value(which);
    return found;
}

CnoStatus look_at(Cno& cno) {
    const auto look = cno.look();
    if (!look) return {cno.id(), false, 0, 0, false};
    return {cno.id(), true, look->waiters, look->evds, look->triggered};
}

SrqStatus look_at(const Srq& srq) {
    const Srq::Look look = srq.look();
    return {srq.id(), look.limit, look.posted, srq.users, srq.state() == DAT_SRQ_STATE_ERROR};
}

const char* name_of(Kind kind) {
    if (kind == Kind::kPsp) return "PSP";
    return kind == Kind::kRsp ? "RSP" : "CSP";
}

void look_at_connections(Ia& ia, IaStatus& found) REQUIRES(connection_lock) {
    for (Ep* ep = ia.eps.first(); ep; ep = ia.eps.after(*ep)) found.eps.push_back(look_at(*ep));
    for_each(ia.service_points, [&](const ServicePoint& point) {
        found.service_points.push_back({name_of(point.kind), point.conn_qual});
    });
    for_each(ia.requests, [&](const Cr& cr) {
        found.requests.push_back({cr.id(), cr.conn_qual, cr.remote_address});
    });
}

void look_at_children(Ia& ia, IaStatus& found) REQUIRES(ia.mutex) {
    found.pzs = for_each(ia.pzs, [](const Pz&) {});
    found.lmrs =
        for_each(ia.lmrs, [&](const Lmr& lmr) { found.lmr_bytes += lmr.parameters.length; });
    found.rmrs = for_each(ia.rmrs, [](const Rmr&) {});
    for (Evd* evd = ia.evds.first(); evd; evd = ia.evds.after(*evd))
        found.evds.push_back(look_at(*evd, ia.cnos));
    for_each(ia.cnos, [&](Cno& cno) { found.cnos.push_back(look_at(cno)); });
    for_each(ia.srqs, [&](const Srq& srq) { found.srqs.push_back(look_at(srq)); });
}

/// The lists of connections and of the other objects, one after the other: each lock for a moment.
void fill(Ia& ia, IaStatus& found) {
    if (!lock_soon(ia.mutex)) {
        found.busy = true;
        return;
    }
    {
        support::MutexLock lock(ia.mutex, support::MutexLock::kTaken);
        look_at_children(ia, found);
    }
    if (!lock_soon(connection_lock)) {
        found.busy = true;
        return;
    }
    support::MutexLock lock(connection_lock, support::MutexLock::kTaken);
    look_at_connections(ia, found);
}

IaStatus look_at(Ia& ia) {
    IaStatus found{};
    found.id = ia.id();
    found.name = ia.provider.info.ia_name;
    found.device = ia.context()->device->name;
    found.manager = ia.manager->name();
    found.port = ia.adapter().port;
    found.address = ia.adapter().address;
    fill(ia, found);
    for (int which = 0; which < DCNT_IA_ALL_COUNTERS; ++which)
        found.counters[which] =
            DeviceCounters::has(which) ? ia.device_counters.value(which) : ia.counters.total(which);
    return found;
}

}  // namespace

Snapshot take_snapshot(ProcessState& process) {
    Snapshot found;
    found.when = Clock::now();
    if (!lock_soon(process.open_mutex)) {
        found.busy = true;
        return found;
    }
    support::MutexLock lock(process.open_mutex, support::MutexLock::kTaken);
    for (Ia* ia = process.first_ia; ia; ia = ia->next) found.ias.push_back(look_at(*ia));
    return found;
}

}  // namespace dapl::status
