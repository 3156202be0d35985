// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/datagram_targets.hpp"

#include <algorithm>
#include <chrono>

#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

/// A number that no queue pair had is not looked up again for so long: it may be assigned soon, but
/// a look-up for each message would cost too much.
constexpr std::chrono::milliseconds kAbsence{10};

void tell(Adapter& adapter, std::uint32_t asker, std::uint32_t wanted, Result<Target> found) {
    support::MutexLock lock(adapter.mutex);
    if (QueuePair* qp = adapter.find_qp(asker)) qp->destination_found(wanted, std::move(found));
}

/// Looks up a destination. Runs on the service thread and does not wait: the link to a process that
/// is not known yet is set up asynchronously.
void resolve(Adapter& adapter, std::uint32_t asker, std::uint32_t wanted) {
    const Result<MemberRef> owner = adapter.process().index().owner_of_block(wanted / kQpsPerBlock);
    if (!owner) return tell(adapter, asker, wanted, tl::unexpected<int>(owner.error()));
    adapter.process().find_peer(*owner, [&adapter, asker, wanted](auto peer) {
        Result<Target> found =
            peer ? Target::bind(adapter, wanted, IBV_QPT_UD) : tl::unexpected<int>(peer.error());
        tell(adapter, asker, wanted, std::move(found));
    });
}

}  // namespace

/// In a private receive queue they follow the ring.
bool DatagramTarget::find_messages() {
    const ReceiveRing& ring = target.receives;
    if (target.entry->qp_type != IBV_QPT_UD) return false;
    if (ring.shared) {
        sections = target.arena.array<std::atomic<std::uint64_t>>(
            target.entry->ring_offset, kMaxSrqSections * sizeof(std::uint64_t));
        return sections != nullptr;
    }
    const auto begin = static_cast<std::uint64_t>(ring.slots - target.arena.base());
    slots = target.arena.array<DatagramSlot>(begin + std::uint64_t{ring.size} * ring.stride,
                                             std::uint64_t{ring.size} * sizeof(DatagramSlot));
    return slots != nullptr;
}

DatagramSlot* DatagramTarget::message(std::uint32_t slot) const {
    const ReceiveRing& ring = target.receives;
    if (!ring.shared) return slots + (slot & (ring.size - 1));
    const SectionPlace place = SectionPlace::of(slot, ring.size);
    if (place.section >= kMaxSrqSections) return nullptr;
    auto* const section =
        target.arena.array<DatagramSlot>(sections[place.section].load(std::memory_order_acquire),
                                         std::uint64_t{place.size} * sizeof(DatagramSlot));
    return section ? section + place.index : nullptr;
}

DatagramTarget& DatagramTargets::find(std::uint32_t qp_num) {
    Recent& recent = recent_[qp_num % kRecent];
    if (!recent.target || recent.qp_num != qp_num) {
        auto known = targets_.find(qp_num);
        if (known == targets_.end()) {
            if (targets_.size() >= kMostDatagramTargets) make_room();
            // First, so that no message waits for an answer if there is no memory for the look-up.
            ask(qp_num);
            known = targets_.emplace(qp_num, std::make_unique<DatagramTarget>()).first;
        }
        recent = {qp_num, known->second.get()};
    }
    DatagramTarget& target = *recent.target;
    target.last_use = ++uses_;
    const bool is_outdated =
        target.state == DatagramTarget::State::kBound
            ? !target.is_current()
            : target.state == DatagramTarget::State::kAbsent && Clock::now() >= target.ask_again;
    if (is_outdated) {
        ask(qp_num);
        target = DatagramTarget{};
        target.last_use = uses_;
    }
    return target;
}

DatagramTarget* DatagramTargets::bound(std::uint32_t qp_num) const {
    const auto known = targets_.find(qp_num);
    const bool is_bound =
        known != targets_.end() && known->second->state == DatagramTarget::State::kBound;
    return is_bound ? known->second.get() : nullptr;
}

void DatagramTargets::ask(std::uint32_t qp_num) {
    const CancellationDisabled guard;
    Adapter* adapter = &qp_.adapter();
    adapter->process().service().post(
        [adapter, asker = qp_.qp_num, qp_num] { resolve(*adapter, asker, qp_num); });
}

void DatagramTargets::resolved(std::uint32_t qp_num, Result<Target> found) {
    const auto entry = targets_.find(qp_num);
    if (entry == targets_.end()) return;
    DatagramTarget& target = *entry->second;
    target.state = DatagramTarget::State::kAbsent;
    target.ask_again = Clock::now() + kAbsence;
    if (!found) return;
    target.target = std::move(*found);
    if (target.find_messages())
        target.state = DatagramTarget::State::kBound;
    else
        target.target = {};
}

void DatagramTargets::stop_waiting() {
    for (const auto& [qp_num, target] : targets_) {
        if (target->state == DatagramTarget::State::kAsked)
            target->state = DatagramTarget::State::kSilent;
    }
}

bool DatagramTargets::look_after_placement() {
    bool again = false;
    for (const auto& [qp_num, target] : targets_) {
        if (target->state == DatagramTarget::State::kBound && target->unplaced.look(target->target))
            again = true;
    }
    return again;
}

void DatagramTargets::leave_placement() {
    for (const auto& [qp_num, target] : targets_) {
        if (target->state == DatagramTarget::State::kBound) target->unplaced.leave(target->target);
    }
}

template <class IsGone>
void DatagramTargets::forget_if(const IsGone& is_gone) {
    for (auto at = targets_.begin(); at != targets_.end();) {
        if (!is_gone(*at->second)) {
            ++at;
            continue;
        }
        Recent& recent = recent_[at->first % kRecent];
        if (recent.qp_num == at->first) recent = {};
        at = targets_.erase(at);
    }
}

/// Forgets the targets to which none of the last n / 2 messages went, of n targets in all. These
/// are at least half of them, so a sender to ever new numbers does not scan the table for each
/// message.
void DatagramTargets::make_room() {
    const std::uint64_t recent_uses = targets_.size() / 2;
    const std::uint64_t last_old = uses_ - std::min(uses_, recent_uses);
    forget_if([last_old](DatagramTarget& target) {
        if (target.last_use > last_old) return false;
        if (target.state == DatagramTarget::State::kBound) target.unplaced.leave(target.target);
        return true;
    });
}

void DatagramTargets::forget(const Peer& peer) {
    forget_if([&peer](const DatagramTarget& target) {
        return target.state == DatagramTarget::State::kBound && target.target.peer.get() == &peer;
    });
}

}  // namespace softverbs
