// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/datagram_targets.hpp"

#include <chrono>

#include "providers/soft/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

/// A number that nobody had may be somebody's soon; asking for each message would cost too much.
constexpr std::chrono::milliseconds kAbsence{10};

void tell(Adapter& adapter, std::uint32_t asker, std::uint32_t wanted, Result<Target> found) {
    support::MutexLock lock(adapter.mutex);
    if (QueuePair* qp = adapter.find_qp(asker)) qp->destination_found(wanted, std::move(found));
}

/// Service thread. Nothing here waits: the link to a process that we do not know yet is made by and
/// by.
void resolve(Adapter& adapter, std::uint32_t asker, std::uint32_t wanted) {
    const Result<MemberRef> owner = adapter.process().index().owner_of_block(wanted / kQpsPerBlock);
    if (!owner) return tell(adapter, asker, wanted, tl::unexpected<int>(owner.error()));
    adapter.process().find_peer(*owner, [&adapter, asker, wanted](auto peer) {
        Result<Target> found =
            peer ? Target::bind(adapter, wanted) : tl::unexpected<int>(peer.error());
        tell(adapter, asker, wanted, std::move(found));
    });
}

/// The places for messages follow the ring of receives.
DatagramSlot* slots_of(const Target& target) {
    const ReceiveRing& ring = target.receives;
    if (ring.shared || target.entry->qp_type != IBV_QPT_UD) return nullptr;
    const auto begin = static_cast<std::uint64_t>(ring.slots - target.arena.base());
    return target.arena.array<DatagramSlot>(begin + std::uint64_t{ring.size} * ring.stride,
                                            std::uint64_t{ring.size} * sizeof(DatagramSlot));
}

}  // namespace

DatagramTarget& DatagramTargets::find(std::uint32_t qp_num) {
    Recent& recent = recent_[qp_num % kRecent];
    if (!recent.target || recent.qp_num != qp_num) {
        std::unique_ptr<DatagramTarget>& known = targets_[qp_num];
        if (!known) {
            known = std::make_unique<DatagramTarget>();
            ask(qp_num);
        }
        recent = {qp_num, known.get()};
    }
    DatagramTarget& target = *recent.target;
    const bool is_outdated =
        target.state == DatagramTarget::State::kBound
            ? !target.is_current()
            : target.state == DatagramTarget::State::kAbsent && Clock::now() >= target.ask_again;
    if (is_outdated) {
        target = DatagramTarget{};
        ask(qp_num);
    }
    return target;
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
    target.slots = slots_of(*found);
    if (!target.slots) return;
    target.target = std::move(*found);
    target.state = DatagramTarget::State::kBound;
}

void DatagramTargets::stop_waiting() {
    for (const auto& [qp_num, target] : targets_) {
        if (target->state == DatagramTarget::State::kAsked)
            target->state = DatagramTarget::State::kSilent;
    }
}

void DatagramTargets::forget(const Peer& peer) {
    for (auto at = targets_.begin(); at != targets_.end();) {
        const bool is_of_peer = at->second->state == DatagramTarget::State::kBound &&
                                at->second->target.peer.get() == &peer;
        if (!is_of_peer) {
            ++at;
            continue;
        }
        recent_[at->first % kRecent] = {};
        at = targets_.erase(at);
    }
}

}  // namespace softverbs
