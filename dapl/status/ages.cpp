// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/status/ages.hpp"

namespace dapl::status {

Age Ages::age_of(const Key& key, std::uint64_t value) {
    const auto [entry, is_new] = seen_.try_emplace(key, Seen{value, now_, round_});
    Seen& seen = entry->second;
    if (!is_new && seen.value != value) seen = {value, now_, round_};
    seen.round = round_;
    return now_ - seen.since;
}

void Ages::observe_side(std::uint64_t ep, SideStatus& side, Aspect taken, Aspect oldest) {
    side.idle = age_of({ep, taken}, side.taken);
    // `oldest` of an empty queue is that of the next post, so it is not observed: the age of a
    // transfer would include the time during which the queue was empty.
    if (side.work.posted > 0) side.oldest_age = age_of({ep, oldest}, side.work.oldest);
}

void Ages::observe(Snapshot& snapshot) {
    now_ = snapshot.when;
    ++round_;
    bool complete = !snapshot.busy;
    for (IaStatus& ia : snapshot.ias) {
        complete = complete && !ia.busy;
        for (EpStatus& ep : ia.eps) {
            observe_side(ep.id, ep.requests, kTakenRequests, kOldestRequest);
            observe_side(ep.id, ep.receives, kTakenReceives, kOldestReceive);
        }
        for (EvdStatus& evd : ia.evds) {
            evd.unlooked = age_of({evd.id, kLooks},
                                  evd.counters[DCNT_EVD_DEQUEUE] + evd.counters[DCNT_EVD_WAIT]);
            if (evd.waited_on) evd.unlooked = {};
        }
        for (CrStatus& cr : ia.requests) cr.age = age_of({cr.id, kRequest}, 0);
    }
    // Drops the entries of destroyed objects and of queues that were empty. A snapshot that is not
    // complete drops nothing.
    if (complete)
        std::erase_if(seen_, [&](const auto& each) { return each.second.round != round_; });
}

}  // namespace dapl::status
