// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/status/snapshot.hpp"

#include <time.h>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/process_state.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/evd/cno.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/listen/cr.hpp"
#include "dapl/listen/service_point.hpp"
#include "dapl/memory/lmr.hpp"
#include "dapl/memory/pz.hpp"
#include "dapl/memory/rmr.hpp"

namespace dapl::status {
namespace {

/// Waits for the lock for about 100 ms only. A process that hangs may hold it forever; the answer
/// then reports that instead of hanging too.
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

SideStatus look_at(const Side& side, DAT_COUNT limit, const Evd* evd) {
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
    switch (kind) {
        case Kind::kPsp:
            return "PSP";
        case Kind::kRsp:
            return "RSP";
        case Kind::kSsp:
            return "SSP";
        default:
            return "CSP";
    }
}

/// Fills a list while a lock is held that DAT calls take. The consumer's malloc() may make such a
/// call, so memory is reserved before; items that do not fit are only counted.
template <class T>
class Filling {
  public:
    explicit Filling(std::vector<T>& items) : items_(items) {}
    void begin() {
        items_.clear();
        wanted_ = 0;
    }
    void add(const T& item) {
        if (wanted_++ < items_.capacity()) items_.push_back(item);
    }
    /// Called without the lock. @return whether all items did fit; if not, reserves more memory.
    bool is_complete() {
        if (wanted_ <= items_.capacity()) return true;
        items_.reserve(2 * wanted_);
        return false;
    }

  private:
    std::vector<T>& items_;
    std::size_t wanted_ = 0;
};

class Connections {
  public:
    explicit Connections(IaStatus& found)
        : eps_(found.eps), points_(found.service_points), requests_(found.requests) {}
    void look(Ia& ia) REQUIRES(connection_lock) {
        eps_.begin(), points_.begin(), requests_.begin();
        for (Ep* ep = ia.eps.first(); ep; ep = ia.eps.after(*ep)) eps_.add(look_at(*ep));
        for_each(ia.service_points, [&](const ServicePoint& point) {
            points_.add({id_of(point.self()), name_of(point.kind), point.conn_qual});
        });
        for_each(ia.requests, [&](const Cr& cr) {
            requests_.add({cr.id(), cr.conn_qual, cr.remote_address});
        });
    }
    bool is_complete() {
        const bool eps = eps_.is_complete(), points = points_.is_complete();
        return requests_.is_complete() && eps && points;
    }

  private:
    Filling<EpStatus> eps_;
    Filling<ServicePointStatus> points_;
    Filling<CrStatus> requests_;
};

class Children {
  public:
    explicit Children(IaStatus& found)
        : found_(found), evds_(found.evds), cnos_(found.cnos), srqs_(found.srqs) {}
    void look(Ia& ia) REQUIRES(ia.mutex) {
        evds_.begin(), cnos_.begin(), srqs_.begin();
        found_.lmr_bytes = 0;
        found_.pzs = for_each(ia.pzs, [](const Pz&) {});
        found_.lmrs =
            for_each(ia.lmrs, [&](const Lmr& lmr) { found_.lmr_bytes += lmr.parameters.length; });
        found_.rmrs = for_each(ia.rmrs, [](const Rmr&) {});
        for (Evd* evd = ia.evds.first(); evd; evd = ia.evds.after(*evd))
            evds_.add(look_at(*evd, ia.cnos));
        for_each(ia.cnos, [&](Cno& cno) { cnos_.add(look_at(cno)); });
        for_each(ia.srqs, [&](const Srq& srq) { srqs_.add(look_at(srq)); });
    }
    bool is_complete() {
        const bool evds = evds_.is_complete(), cnos = cnos_.is_complete();
        return srqs_.is_complete() && evds && cnos;
    }

  private:
    IaStatus& found_;
    Filling<EvdStatus> evds_;
    Filling<CnoStatus> cnos_;
    Filling<SrqStatus> srqs_;
};

/// @return false when another thread has held the lock for too long.
template <class Lists>
bool fill(Ia& ia, support::Mutex& mutex, Lists lists) NO_THREAD_SAFETY_ANALYSIS {
    do {
        if (!lock_soon(mutex)) return false;
        lists.look(ia);
        mutex.unlock();
    } while (!lists.is_complete());
    return true;
}

/// Fills the lists of connections and those of the other objects one after the other, so that each
/// lock is held only briefly.
void fill(Ia& ia, IaStatus& found) {
    found.busy =
        !fill(ia, ia.mutex, Children(found)) || !fill(ia, connection_lock, Connections(found));
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
