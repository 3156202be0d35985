// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/multicast.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

constexpr std::uint16_t kFirstMulticastLid = 0xc000;
constexpr std::uint16_t kPermissiveLid = 0xffff;

/// RoCE has no LIDs: programs pass any.
std::uint16_t mlid_of(std::uint16_t mlid) {
    return is_roce() ? 0 : mlid;
}

MulticastGroup group_of(const union ibv_gid& mgid, std::uint16_t mlid) {
    MulticastGroup group{{}, mlid_of(mlid)};
    std::memcpy(&group.mgid, &mgid, sizeof group.mgid);
    return group;
}

bool is_same(const MulticastGroup& a, const MulticastGroup& b) {
    return a.mlid == b.mlid && std::memcmp(&a.mgid, &b.mgid, sizeof a.mgid) == 0;
}

bool can_attach(const union ibv_gid& mgid, std::uint16_t mlid) {
    if (!is_group(mgid)) return false;
    return is_roce() || (mlid >= kFirstMulticastLid && mlid != kPermissiveLid);
}

/// Runs on the service thread.
void look_up(Adapter& adapter, std::uint32_t asker, const MulticastGroup& group) {
    Index::Attached found = adapter.process().index().attached_to(group);
    support::MutexLock lock(adapter.mutex);
    if (QueuePair* qp = adapter.find_qp(asker)) qp->group_found(group, found);
}

}  // namespace

MulticastGroups::Known* MulticastGroups::known(const MulticastGroup& group) {
    const auto is_it = [&](const Known& one) {
        return one.last_use != 0 && is_same(one.group, group);
    };
    Known* const found = std::find_if(std::begin(known_), std::end(known_), is_it);
    return found != std::end(known_) ? found : nullptr;
}

/// Replaces the group that has not been sent to for the longest time.
MulticastGroups::Known& MulticastGroups::place_for(const MulticastGroup& group) {
    const auto is_older = [](const Known& a, const Known& b) { return a.last_use < b.last_use; };
    Known& place = *std::min_element(std::begin(known_), std::end(known_), is_older);
    place.group = group;
    place.qp_nums.clear();
    return place;
}

const std::vector<std::uint32_t>* MulticastGroups::find(const AddressVector& address) {
    const CancellationDisabled guard;
    const MulticastGroup group = group_of(address.dgid, address.mlid);
    const std::uint64_t changes = qp_.adapter().process().index().group_changes();
    Known* one = known(group);
    if (!one || (one->state == State::kFound && one->changes != changes)) {
        // First, so that no message waits for an answer if there is no memory for the look-up.
        ask(group);
        if (!one) one = &place_for(group);
        one->state = State::kAsked;
    }
    one->last_use = ++uses_;
    return one->state == State::kAsked ? nullptr : &one->qp_nums;
}

void MulticastGroups::ask(const MulticastGroup& group) {
    Adapter* adapter = &qp_.adapter();
    adapter->process().service().post(
        [adapter, asker = qp_.qp_num, group] { look_up(*adapter, asker, group); });
}

void MulticastGroups::found(const MulticastGroup& group, Index::Attached& found) {
    Known* const one = known(group);
    if (!one) return;
    one->changes = found.changes;
    one->qp_nums.swap(found.qp_nums);
    one->state = State::kFound;
}

void MulticastGroups::stop_waiting() {
    for (Known& one : known_)
        if (one.state == State::kAsked) one.state = State::kSilent;
}

int QueuePair::attach(const union ibv_gid& mgid, std::uint16_t mlid) {
    if (qp_type != IBV_QPT_UD || !can_attach(mgid, mlid)) return EINVAL;
    const Result<bool> attached = adapter_.process().index().attach(group_of(mgid, mlid), qp_num);
    if (!attached) return attached.error();
    if (*attached) ++attachments_;
    return 0;
}

int QueuePair::detach(const union ibv_gid& mgid, std::uint16_t mlid) {
    const Result<void> detached = adapter_.process().index().detach(group_of(mgid, mlid), qp_num);
    if (!detached) return detached.error();
    --attachments_;
    return 0;
}

void QueuePair::group_found(const MulticastGroup& group, Index::Attached& found) {
    support::SpinLockGuard lock(send_lock_);
    if (!datagrams_) return;
    datagrams_->groups().found(group, found);
    drain();
}

}  // namespace softverbs

extern "C" {

using softverbs::QueuePair;

int ibv_attach_mcast(ibv_qp* qp, const union ibv_gid* gid, std::uint16_t lid) {
    const softverbs::CancellationDisabled guard;
    try {
        return softverbs::also_errno(QueuePair::of(qp).attach(*gid, lid));
    } catch (const std::bad_alloc&) {
        return softverbs::also_errno(ENOMEM);
    }
}

int ibv_detach_mcast(ibv_qp* qp, const union ibv_gid* gid, std::uint16_t lid) {
    const softverbs::CancellationDisabled guard;
    try {
        return softverbs::also_errno(QueuePair::of(qp).detach(*gid, lid));
    } catch (const std::bad_alloc&) {
        return softverbs::also_errno(ENOMEM);
    }
}

}  // extern "C"
