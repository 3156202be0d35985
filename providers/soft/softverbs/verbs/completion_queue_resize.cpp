// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The ring of a completion queue on its owner's side: visits to its entries, and its replacement
/// by another ring. Producers look up the ring for each completion, so a replacement publishes the
/// new ring first, then waits for producers that may still use the old one, then moves the old
/// ring's completions to private memory, where poll_cq finds them before all later ones. If a
/// producer has been stopped, the service thread continues once that producer has finished.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

/// The status of an entry, by its claim and its state. `phase` is kOld for an entry that is claimed
/// and neither ready nor void.
struct Standing {
    std::uint64_t position;
    Phase phase;
    Producer producer;
    std::uint32_t qp_num;
};

void copy_entry(CqEntry& to, const CqEntry& from) {
    to.state.store(from.state.load(std::memory_order_acquire), std::memory_order_relaxed);
    to.byte_len = from.byte_len;
    to.imm_data = from.imm_data;
    to.qp_num = from.qp_num;
    to.src_qp = from.src_qp;
    to.position = from.position;
    to.status = from.status;
    to.opcode = from.opcode;
    to.wc_flags = from.wc_flags;
    to.flags = from.flags;
    std::memcpy(to.payload, from.payload, sizeof to.payload);
}

bool is_solicited(const CqEntry& entry) {
    return (entry.flags & kSolicited) != 0 || entry.status != IBV_WC_SUCCESS;
}

void make_void(CqEntry& entry, const Standing& standing) {
    entry.state.store(EntryState::encode(standing.position, Phase::kVoid),
                      std::memory_order_release);
}

/// Calls matches(entry, Standing), oldest first, until it returns true. @return whether it did.
template <class Matches>
bool any_entry_of(const CompletionRing& ring, std::uint64_t head, const Matches& matches) {
    for (std::uint64_t at = head; at != head + ring.size(); ++at) {
        const Claim claim = Claim::decode(ring.claim_word(at).load(std::memory_order_acquire));
        if (claim.position != static_cast<std::uint32_t>(at)) break;
        CqEntry& entry = ring.entry(at);
        const EntryState state = EntryState::decode(entry.state.load(std::memory_order_acquire));
        const bool filled = state.position == claim.position;
        if (matches(entry,
                    Standing{at, filled ? state.phase : Phase::kOld, claim.producer, claim.qp_num}))
            return true;
    }
    return false;
}

template <class Matches>
bool any_entry_of(CqEntry* entries, std::uint32_t first, std::uint32_t end,
                  const Matches& matches) {
    for (std::uint32_t i = first; i != end; ++i) {
        CqEntry& entry = entries[i];
        const EntryState state = EntryState::decode(entry.state.load(std::memory_order_relaxed));
        if (matches(entry, Standing{state.position, state.phase, Producer::kRequester,
                                    CompletionNames::number(entry.qp_num)}))
            return true;
    }
    return false;
}

/// Makes any_entry_of() visit all entries.
template <class Visit>
auto visiting(Visit& visit) {
    return [&visit](CqEntry& entry, const Standing& standing) {
        visit(entry, standing);
        return false;
    };
}

}  // namespace

template <class Visit>
void CompletionQueue::each_entry(Visit visit) {
    const auto all = visiting(visit);
    any_entry_of(backlog_.entries.get(), backlog_.head, backlog_.size, all);
    any_entry_of(ring_, head_, all);
    if (next_.valid()) any_entry_of(next_, 0, all);
}

std::uint32_t CompletionQueue::settle_receives(
    std::uint32_t qp_num, const std::function<void()>& inspect,
    const std::function<void(const CqEntry&)>& completes) {
    std::uint32_t waiting = 0;
    support::SpinLockGuard lock(lock_);
    inspect();
    each_entry([&](CqEntry& entry, const Standing& standing) {
        if (standing.qp_num != qp_num) return;
        if (standing.phase == Phase::kReady) {
            ++waiting;
            completes(entry);
        }
        if (standing.phase == Phase::kOld && standing.producer == Producer::kRequester)
            make_void(entry, standing);
    });
    return waiting;
}

void CompletionQueue::purge(const QueuePair& qp) {
    support::SpinLockGuard lock(lock_);
    sends_.each([&](SendCompletion& completion) {
        if (completion.qp == &qp) completion.qp = nullptr;
    });
    each_entry([&](CqEntry& entry, const Standing& standing) {
        if (standing.qp_num == qp.qp_num) make_void(entry, standing);
    });
}

void CompletionQueue::purge_xrc(std::uint32_t srq) {
    support::SpinLockGuard lock(lock_);
    each_entry([&](CqEntry& entry, const Standing& standing) {
        if (standing.phase == Phase::kReady && names_of(entry).srq() == srq + 1)
            make_void(entry, standing);
    });
}

/// Copies an entry's payload, if there is one in the queues, to the posted buffer.
/// @return 0 or EFAULT.
int CompletionQueue::deliver(const CqEntry& entry) const {
    if (QueuePair* qp = adapter().find_receiver(read_once(entry.qp_num), index_))
        return qp->deliver_payload(entry);
    SharedReceiveQueue* srq = adapter().find_xrc_queue(names_of(entry), index_);
    return srq ? srq->deliver_payload(entry) : 0;
}

/// A payload that cannot be placed turns its completion into an error, as it would when polled.
void CompletionQueue::place_payloads() {
    support::SpinLockGuard lock(lock_);
    each_entry([&](CqEntry& entry, const Standing& standing) {
        if (standing.phase != Phase::kReady || (entry.flags & (kInEntry | kInSlot)) == 0) return;
        if (deliver(entry) != 0) entry.status = IBV_WC_LOC_PROT_ERR;
        entry.flags = static_cast<std::uint8_t>(entry.flags & ~(kInEntry | kInSlot));
    });
}

/// Consumes the request for an event if a receive completion that waits satisfies it: one that was
/// not announced, or was announced while it stood behind an entry that a dead producer had claimed.
/// An entry that is claimed and not ready is announced by its producer, and those behind it cannot
/// be polled before it, so the search ends there; except that for a request for solicited
/// completions it continues, as that entry may not be solicited, and for one whose event is held,
/// as those behind it count.
Wake CompletionQueue::take_request_for_receives() {
    const Arm mode = Notify::arm(header_->notify.load(std::memory_order_seq_cst));
    Wake found = Wake::kNone;
    if (mode == Arm::kNone) return found;
    const auto decides = [&](const CqEntry& entry, const Standing& standing) {
        if (standing.phase == Phase::kOld) return mode == Arm::kAny;
        if (standing.phase == Phase::kReady)
            found = std::max(found, take_arming(*header_, is_solicited(entry)));
        return found == Wake::kChannel;
    };
    if (!any_entry_of(backlog_.entries.get(), backlog_.head, backlog_.size, decides))
        any_entry_of(ring_, head_, decides);
    return found;
}

/// A producer that died may have counted an event without raising the descriptor, or not have
/// counted it, or have counted the first completion of a period that nobody has started.
void CompletionQueue::repeat_wake() {
    {
        support::SpinLockGuard lock(lock_);
        support::SpinLockGuard sends(sends_.lock);
        (void)take_request_again();
    }
    watch_period();
    if (CompletionChannel* channel = completion_channel()) channel->stay_readable();
}

/// Send completions and receive completions have capacity of their own each.
bool CompletionQueue::fits(std::uint32_t size) {
    std::uint32_t receives = 0;
    each_entry([&](CqEntry&, const Standing& found) { receives += found.phase != Phase::kVoid; });
    return receives <= size && sends_.waiting() <= size;
}

Result<RingPlace> CompletionQueue::make_ring(std::uint32_t size) {
    Adapter& adapter = this->adapter();
    RingPlace place;
    place.offset = adapter.arena().allocate(ring_bytes(size));
    if (place.offset == 0) return tl::unexpected<int>(ENOMEM);
    place.log2_size = static_cast<std::uint32_t>(std::countr_zero(size));
    auto* claims = adapter.view().array<CqClaim>(place.offset, ring_bytes(size));
    auto* entries = reinterpret_cast<CqEntry*>(claims + size);
    // As if one lap had been completed.
    for (std::uint32_t i = 0; i < size; ++i) {
        claims[i] = Claim{i - size, Producer::kOwner, 0}.encode();
        entries[i].state = EntryState::encode(std::uint32_t{i - size}, Phase::kOld);
    }
    return place;
}

void CompletionQueue::release_ring(RingPlace place) {
    adapter().arena().release(place.offset, ring_bytes(place.size()));
}

int CompletionQueue::resize(int entries) {
    if (entries < 1 || entries > static_cast<int>(kMaxCqEntries)) return EINVAL;
    const std::uint32_t size = ring_size(static_cast<std::uint32_t>(entries));
    ResizeMemory earlier, replaced;
    support::MutexLock lock(resize_mutex_);
    // A replacement that was left unfinished comes first.
    if (const int cause = finish_replacement(Clock::now() + kRequesterPatience, earlier))
        return cause;
    if (const int cause = begin_replacement(size)) return cause;
    const int cause = finish_replacement(Clock::now() + kRequesterPatience, replaced);
    if (cause != 0) finish_later(adapter(), index_);
    return cause;
}

/// Publishes the new ring, into which producers put completions from then on.
int CompletionQueue::begin_replacement(std::uint32_t size) {
    Replacement next;
    {
        support::SpinLockGuard guard(lock_);
        if (!fits(size)) return EINVAL;
        if (place_.size() == size) return 0;
        next.before = place_;
        next.memory.backlog.size = backlog_.left() + ring_.size();
    }
    next.size = size;
    next.memory.backlog.entries = std::make_unique<CqEntry[]>(next.memory.backlog.size);
    next.memory.storage = SendCompletions::storage(size);
    Result<RingPlace> place = make_ring(size);
    if (!place) return place.error();
    place->turn = 1 - next.before.turn;
    replacement_ = std::move(next);
    support::SpinLockGuard guard(lock_);
    header_->tails[place->turn].position.store(0, std::memory_order_relaxed);
    header_->heads[place->turn].store(0, std::memory_order_relaxed);
    header_->ring.store(place->encode(), std::memory_order_seq_cst);
    place_ = *place;
    next_ = CompletionRing::at(adapter().view(), index_, place_);
    return 0;
}

/// Waits for requesters that may use the old ring, then drops it. Threads of this process choose
/// the ring under lock_ and need no wait.
int CompletionQueue::finish_replacement(Deadline deadline, ResizeMemory& replaced) {
    if (replacement_.size == 0) return 0;
    Adapter& adapter = this->adapter();
    const auto is_ours = [&](std::uint32_t qp, std::uint32_t) {
        return adapter.receives_complete_in(qp, index_);
    };
    if (!adapter.requesters.wait(deadline, is_ours)) return EBUSY;
    if (!adapter.wait_for_datagrams(index_, deadline)) return EBUSY;
    replaced = std::move(replacement_.memory);
    change_over(replaced.backlog);
    {
        support::SpinLockGuard guard(lock_);
        sends_.resize(replacement_.size, replaced.storage);
    }
    release_ring(replacement_.before);
    cqe = static_cast<int>(replacement_.size);
    replacement_.size = 0;
    return 0;
}

/// Tries again until it succeeds: completions in the new ring are not polled before the old one is
/// finished.
void CompletionQueue::finish_later(Adapter& adapter, std::uint32_t index) {
    constexpr std::chrono::milliseconds kPause{10};
    adapter.process().service().at(Clock::now() + kPause, [&adapter, index] {
        ResizeMemory replaced;
        bool finished = true;
        {
            support::MutexLock lock(adapter.mutex);
            CompletionQueue* const cq = adapter.find_cq(index);
            if (cq) finished = cq->resume_replacement(replaced);
        }
        if (!finished) finish_later(adapter, index);
    });
}

bool CompletionQueue::resume_replacement(ResizeMemory& replaced) {
    if (!resize_mutex_.try_lock()) return false;
    const support::MutexLock lock(resize_mutex_, support::MutexLock::kTaken);
    return finish_replacement(Clock::now(), replaced) == 0;
}

/// Moves the old ring's completions to the backlog, and polls the new ring from then on. Nobody
/// writes to the old ring any more: entries that are not ready were claimed by producers that died.
/// Completions in the new ring could not be polled until now, so an event raised for them may have
/// been consumed too early.
/// @param backlog empty, with capacity for all; afterwards holds the previous backlog.
void CompletionQueue::change_over(Backlog& backlog) {
    Wake found = Wake::kNone;
    {
        support::SpinLockGuard guard(lock_);
        std::uint32_t kept = 0;
        const auto keep = [&](CqEntry& entry, const Standing& standing) {
            if (standing.phase == Phase::kReady) copy_entry(backlog.entries[kept++], entry);
        };
        any_entry_of(backlog_.entries.get(), backlog_.head, backlog_.size, visiting(keep));
        any_entry_of(ring_, head_, visiting(keep));
        backlog.size = kept;
        std::swap(backlog_, backlog);
        ring_ = next_;
        next_ = {};
        head_ = 0;
        support::SpinLockGuard sends(sends_.lock);
        found = take_request_again();
    }
    wake(found);
}

}  // namespace softverbs
