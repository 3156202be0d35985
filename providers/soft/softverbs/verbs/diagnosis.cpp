// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/diagnosis.hpp"

#include "providers/soft/softverbs/arena/peer_image.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

/// Diagnosis reads entries without the mark of a transfer, which would keep them unchanged, so an
/// entry may be reused at the same time. At worst that makes a wrong message.
#define READS_ENTRY __attribute__((no_sanitize("thread")))

/// Mask of the part of a window's key that stays the same for the window's life.
constexpr std::uint32_t kWindowsPart = ~std::uint32_t{0xff};

READS_ENTRY bool is_window(const MrEntry& entry) {
    return entry.kind != KeyKind::kRegion;
}

/// Whether the entry has had this key. Its generations count up, so an earlier one has been given
/// out.
READS_ENTRY bool was_given(const MrEntry& entry, std::uint32_t key) {
    if (entry.last_key == 0) return false;
    if (is_window(entry) && (key & kWindowsPart) == (entry.last_key & kWindowsPart)) return true;
    return key <= entry.last_key;
}

verbs::QueuePairFailure failure_of(verbs::FailureCause cause, const Asked& asked) {
    verbs::QueuePairFailure failure{};
    failure.cause = cause;
    failure.key = asked.key;
    failure.rights = asked.rights;
    failure.address = asked.address;
    failure.length = asked.length;
    return failure;
}

READS_ENTRY verbs::QueuePairFailure absent_key(const MrEntry& entry, const Asked& asked) {
    if (!was_given(entry, asked.key)) return failure_of(verbs::FailureCause::kNoSuchKey, asked);
    verbs::QueuePairFailure failure = failure_of(verbs::FailureCause::kKeyEnded, asked);
    failure.is_window = is_window(entry);
    const bool is_last = failure.is_window || asked.key == entry.last_key;
    if (!is_last) return failure;
    failure.ended_at = entry.uses.last;
    failure.ended_by = entry.ended_by;
    return failure;
}

READS_ENTRY verbs::FailureCause cause_of(const MrEntry& entry, const Asked& asked, std::uint32_t pd,
                                         const QpEntry* qp) {
    const bool is_other =
        entry.kind == KeyKind::kQueuePairsWindow && qp &&
        (entry.qp_num != qp->qp_num.load() || entry.qp_generation != qp->generation.load());
    if (is_other) return verbs::FailureCause::kOtherQueuePair;
    if (entry.pd != pd) return verbs::FailureCause::kOtherDomain;
    if ((entry.access & asked.rights) != asked.rights) return verbs::FailureCause::kMissingRight;
    const std::uint64_t offset = asked.address - entry.iova;
    const bool inside = offset <= entry.length && asked.length <= entry.length - offset;
    return inside ? verbs::FailureCause::kMemoryGone : verbs::FailureCause::kOutOfRange;
}

READS_ENTRY verbs::QueuePairFailure look_at(const MrEntry& entry, const Asked& asked,
                                            std::uint32_t pd, const QpEntry* qp) {
    if (asked.key == 0) return failure_of(verbs::FailureCause::kNoSuchKey, asked);
    if (entry.key.load(std::memory_order_seq_cst) != asked.key) return absent_key(entry, asked);
    verbs::QueuePairFailure failure = failure_of(cause_of(entry, asked, pd, qp), asked);
    failure.is_window = is_window(entry);
    failure.region_address = entry.iova;
    failure.region_length = entry.length;
    return failure;
}

/// Returns the refused access that the requester noted. Any peer may have written it.
Asked refused_by(const QpEntry& qp) {
    return {read_once(qp.refused.key), read_once(qp.refused.rights), read_once(qp.refused.address),
            read_once(qp.refused.length)};
}

#undef READS_ENTRY

verbs::QueuePairFailure look_at_rights(const QpEntry& qp, const Asked& asked) {
    const std::uint32_t taken = qp.access.load(std::memory_order_acquire);
    if ((taken & asked.rights) == asked.rights) return {};
    return failure_of(verbs::FailureCause::kQueuePairRights, asked);
}

verbs::QueuePairFailure of_peer(verbs::QueuePairFailure failure, const Target& target) {
    failure.is_remote = true;
    failure.pid = target.peer->pid();
    return failure;
}

}  // namespace

Asked asked_by(const SendWork& work) {
    const std::uint32_t rights = remote_right(work.opcode);
    if (rights == 0) return {work.imm_data, 0, 0, 0};  // the key that a send with invalidate names
    return {work.rkey, rights, work.remote_addr, work.length};
}

verbs::QueuePairFailure diagnose_local(const Adapter& adapter, const SendWork& work,
                                       std::uint32_t pd) {
    verbs::QueuePairFailure last{};
    const std::uint32_t rights = work.brings_data() ? IBV_ACCESS_LOCAL_WRITE : 0;
    for (std::uint32_t i = 0; i < work.num_segments; ++i) {
        const Segment& segment = work.segments[i];
        if (work.is_inline() || segment.length == 0) continue;
        const Asked asked{segment.key, rights, segment.address, segment.length};
        const verbs::QueuePairFailure found =
            look_at(adapter.view().mr(asked.key), asked, pd, nullptr);
        if (found.cause != verbs::FailureCause::kMemoryGone) return found;
        last = found;
    }
    // It is not known which of several segments has lost its memory.
    return work.num_segments == 1 ? last : verbs::QueuePairFailure{};
}

verbs::QueuePairFailure diagnose_remote(const Target& target, const Asked& asked) {
    const QpEntry& qp = *target.entry;
    return of_peer(look_at(target.arena.mr(asked.key), asked, target.pd, &qp), target);
}

verbs::QueuePairFailure diagnose_invalid(const Target& target, const Asked& asked) {
    return of_peer(look_at_rights(*target.entry, asked), target);
}

verbs::QueuePairFailure diagnose_invalid(const QpEntry& qp) {
    verbs::QueuePairFailure failure = look_at_rights(qp, refused_by(qp));
    failure.asked_by_peer = true;
    return failure;
}

verbs::QueuePairFailure diagnose_asked(const ArenaView& own, const QpEntry& qp) {
    const Asked asked = refused_by(qp);
    verbs::QueuePairFailure failure = look_at(own.mr(asked.key), asked, qp.pd, &qp);
    failure.asked_by_peer = true;
    return failure;
}

verbs::QueuePairFailure diagnose_receive(const ArenaView& own, const QpEntry& qp,
                                         std::uint32_t pd) {
    const Asked asked = refused_by(qp);
    if (asked.rights != IBV_ACCESS_LOCAL_WRITE) return {};
    verbs::QueuePairFailure failure = look_at(own.mr(asked.key), asked, pd, nullptr);
    failure.is_receive = true;
    return failure;
}

verbs::QueuePairFailure diagnose_remote_receive(const Target& target) {
    const SrqHeader* const shared = target.receives.shared;
    const std::uint32_t pd = shared ? shared->pd : target.pd;
    return of_peer(diagnose_receive(target.arena, *target.entry, pd), target);
}

verbs::QueuePairFailure diagnose_death(const Peer& peer) {
    const ProcessEnd end = peer.how_it_ended();
    verbs::QueuePairFailure failure{};
    failure.cause = verbs::FailureCause::kProcessEnded;
    failure.pid = peer.pid();
    failure.signal = end.signal;
    failure.exit_code = end.exit_code;
    const ArenaView arena(peer.arena(), peer.arena_size());
    failure.is_by_exit = arena.header().has_left.load(std::memory_order_acquire) != 0;
    return failure;
}

namespace {

/// @param port as in QpEntry::port.
bool is_without_link(const Adapter& adapter, std::uint16_t port) {
    return port != 0 && port <= kMostPortIds &&
           adapter.process().device_states().is_down(PortId::at(port - 1u));
}

}  // namespace

verbs::QueuePairFailure diagnose_silence(const Adapter& own, const QpEntry& qp,
                                         const Target& target) {
    if (!target.peer->is_self() && target.peer->has_ended()) return diagnose_death(*target.peer);
    verbs::QueuePairFailure failure{};
    failure.pid = target.peer->pid();
    failure.is_remote = !is_without_link(own, qp.port.load(std::memory_order_acquire));
    if (!failure.is_remote ||
        is_without_link(own, target.entry->port.load(std::memory_order_acquire)))
        failure.cause = verbs::FailureCause::kLinkDown;
    else if (image_has_ended(*target.peer))
        failure.cause = verbs::FailureCause::kProgramReplaced;
    else if (target.entry->generation.load(std::memory_order_seq_cst) != target.generation)
        failure.cause = verbs::FailureCause::kQueuePairGone;
    else if (target.entry->readiness.load(std::memory_order_seq_cst) == Readiness::kFailed)
        failure.cause = verbs::FailureCause::kQueuePairFailed;
    return failure;
}

}  // namespace softverbs

bool softverbs_failure_of(ibv_qp* qp, verbs::QueuePairFailure* failure) {
    using softverbs::QueuePair;
    if (!softverbs::is_soft(*qp->context)) return false;
    return QueuePair::of(qp).real().failure(*failure);
}
