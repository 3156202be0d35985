// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/target.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/arena/peer_image.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/channel_wakeup.hpp"
#include "support/log/log.hpp"

namespace softverbs {
namespace {

/// A running peer answers in microseconds; one that is stopped is given this long.
constexpr std::chrono::seconds kPatience{10};

bool is_power_of_two(std::uint32_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/// @return bytes of the ring's slots, or 0 when its numbers are inconsistent.
std::uint64_t slots_bytes(const ReceiveRing& ring) {
    const bool sane = is_power_of_two(ring.size) && ring.max_sge <= kMaxSge &&
                      ring.stride == slot_stride(ring.max_sge);
    return sane ? std::uint64_t{ring.size} * ring.stride : 0;
}

bool find_shared_receives(ArenaView arena, std::uint32_t index, ReceiveRing& ring) {
    SrqHeader* header = arena.srq(index);
    if (!header || header->live.load(std::memory_order_acquire) == 0) return false;
    ring.size = header->first_size;
    ring.stride = header->slot_stride;
    ring.max_sge = header->max_sge;
    ring.shared = header;
    ring.arena = arena;
    ring.sections = header->sections;
    return slots_bytes(ring) != 0 && ring.slot(0);
}

bool find_receives(ArenaView arena, const QpEntry& entry, std::uint32_t srq, ReceiveRing& ring) {
    if (srq != 0) return find_shared_receives(arena, srq - 1, ring);
    ring.size = entry.ring_size;
    ring.stride = entry.slot_stride;
    ring.max_sge = entry.max_sge;
    const std::uint64_t bytes = slots_bytes(ring);
    if (bytes == 0) return false;
    ring.slots = arena.array<std::uint8_t>(entry.ring_offset, bytes);
    return ring.slots != nullptr;
}

bool is_xrc(unsigned type) {
    return type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

/// Whether queue pairs of these types may be connected. Other mismatches than those of XRC show
/// when a request is refused.
bool are_partners(unsigned one, unsigned other) {
    if (other == kXrcQueue) return false;
    return is_xrc(one) == is_xrc(other) && (!is_xrc(one) || one != other);
}

/// @return whether process_vm reaches the peer; an errno when the peer is exiting, or when
/// process_vm does not reach it and nothing else is permitted.
Result<bool> choose_copies(Adapter& adapter, const Peer& peer, ArenaView arena) {
    if (adapter.agent_only()) return false;
    const int cause = probe_process_vm(peer, arena);
    if (cause == 0) return true;
    if (cause == ECONNREFUSED) return tl::unexpected<int>(cause);
    if (adapter.process_vm_only()) {
        support::report<support::kProcessVmRefused>(peer.pid(), std::strerror(cause),
                                                    remedy_of_process_vm(cause));
        return tl::unexpected<int>(cause);
    }
    return false;
}

}  // namespace

ReceiveSlot* ReceiveRing::shared_slot(std::uint32_t index) const {
    const SectionPlace place = SectionPlace::of(index, size);
    if (place.section >= kMaxSrqSections) return nullptr;
    auto* section =
        arena.array<std::uint8_t>(sections[place.section].load(std::memory_order_acquire),
                                  std::uint64_t{place.size} * stride);
    if (!section) return nullptr;
    return reinterpret_cast<ReceiveSlot*>(section + std::size_t{place.index} * stride);
}

Result<Target> Target::bind(Adapter& adapter, std::uint32_t qp_num, ibv_qp_type type) {
    const tl::unexpected<int> invalid(EINVAL);
    Result<std::shared_ptr<Peer>> peer =
        adapter.process().peer_of_qpn(qp_num, Clock::now() + kPatience);
    if (!peer) {
        const bool absent = peer.error() == ENOENT || peer.error() == ECONNREFUSED;
        return absent ? invalid : tl::unexpected<int>(peer.error());
    }
    Target target;
    target.peer = *peer;
    if (!is_arena_size(target.peer->arena_size())) return invalid;
    target.arena = ArenaView(target.peer->arena(), target.peer->arena_size());
    if (target.arena.header().magic != kArenaMagic) return invalid;
    const std::int64_t index = target.arena.qp_index(qp_num);
    if (index < 0) return invalid;
    target.index = static_cast<std::uint32_t>(index);
    target.entry = &target.arena.qp(target.index);
    target.qp_num = qp_num;
    target.generation = target.entry->generation.load(std::memory_order_acquire);
    if (target.entry->qp_num.load(std::memory_order_acquire) != qp_num) return invalid;
    if (!are_partners(type, target.entry->qp_type)) return invalid;
    if (!is_xrc(type) && !target.find_queues(*target.entry)) return invalid;
    const Result<bool> has_process_vm = choose_copies(adapter, *target.peer, target.arena);
    if (!has_process_vm) return tl::unexpected<int>(has_process_vm.error());
    target.has_process_vm = *has_process_vm;
    target.image_address = target.arena.header().image_address;
    target.pages = adapter.pages_of(target.peer);
    if (!target.completions) return target;
    target.channel = channel_of(adapter, *target.peer, target.cq, target.completions->channel);
    return target;
}

/// Finds what the entry names: the receives, and the queue of their completions.
bool Target::find_queues(const QpEntry& named) {
    pd = read_once(named.pd);
    cq = read_once(named.cq);
    srq = read_once(named.srq);
    receives = {};
    ring = {};
    if (!completion_ring().valid()) return false;
    completions = arena.cq(cq);
    return find_receives(arena, named, srq, receives);
}

bool Target::is_aimed_at(std::uint32_t number) const {
    if (srq_num == 0 || srq_num != number) return false;
    return srq_entry->generation.load(std::memory_order_seq_cst) == srq_generation;
}

bool Target::aim(std::uint32_t number) {
    srq_num = 0;
    const std::int64_t at = arena.qp_index(number);
    if (at < 0) return false;
    const QpEntry& named = arena.qp(static_cast<std::uint32_t>(at));
    srq_generation = named.generation.load(std::memory_order_seq_cst);
    const std::uint32_t domain = read_once(entry->xrc_domain);
    const bool is_ours = named.qp_num.load(std::memory_order_seq_cst) == number && domain != 0 &&
                         read_once(named.qp_type) == kXrcQueue &&
                         read_once(named.xrc_domain) == domain && read_once(named.srq) != 0;
    if (!is_ours || !find_queues(named) || !receives.shared) return false;
    srq_num = number;
    srq_entry = &named;
    names = CompletionNames::of(qp_num, CompletionNames::number(names.src_qp), srq);
    channel = nullptr;  // the owner's service thread wakes it: asking for its descriptor takes long
    return true;
}

void Target::note_fault(Fault fault) const {
    entry->fault.store(fault, std::memory_order_seq_cst);
    if (fault != Fault::kLocalError) return;
    for (Readiness ready : {Readiness::kReady, Readiness::kXrcReady})
        entry->readiness.compare_exchange_strong(ready, Readiness::kFailed,
                                                 std::memory_order_seq_cst);
}

void Target::kick_qp() const {
    ArenaHeader& header = arena.header();
    set_kick(header.qp_kicks, header.qp_kick_summary, index);
    peer->ring_doorbell();
}

void Target::want_regions() const {
    arena.header().regions_wanted.store(1, std::memory_order_seq_cst);
    fault_point(FaultPoint::kRegionsWanted);
    peer->ring_doorbell();
}

void Target::kick_srq() const {
    if (srq == 0 || srq > kMaxSrqs) return;
    ArenaHeader& header = arena.header();
    set_kick(header.srq_kicks, header.srq_kick_summary, srq - 1);
    peer->ring_doorbell();
}

void Target::kick_cq() const {
    ArenaHeader& header = arena.header();
    set_kick(header.cq_kicks, header.cq_kick_summary, cq);
    peer->ring_doorbell();
}

void Target::wake(Wake wake) const {
    if (wake == Wake::kPeriod) return kick_cq();
    if (channel && ring_bell(channel->get())) return fault_point(FaultPoint::kChannelRaised);
    completions->deferred_wakes.fetch_add(1, std::memory_order_acq_rel);
    kick_cq();
}

}  // namespace softverbs
