// SPDX-License-Identifier: BSD-2-Clause
#include <endian.h>

#include <chrono>
#include <cstring>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/completion_ring.hpp"
#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/payload.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/roce_header.hpp"
#include "providers/soft/softverbs/verbs/take_shared_receive.hpp"

namespace softverbs {
namespace {

/// Limits the wait for a turn. A turn takes microseconds, but its holder may have been preempted,
/// or have died without having been noticed yet.
constexpr std::chrono::seconds kLongestTurn{1};
constexpr int kTurnsBeforeClock = 1024;

/// A Q_Key with this bit set stands for the sender's own.
constexpr std::uint32_t kControlledKey = 0x80000000;

/// Bytes between the route header and the payload, and behind it: transport and datagram headers,
/// checksum.
constexpr std::uint32_t kOtherHeaders = 12 + 8 + 4;

}  // namespace

Turn::Turn(QpEntry& entry, const QueuePair& requester)
    : entry_(entry), turns_(requester.adapter().turns_of(requester.index())) {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    Deadline patience{};
    for (int turns = 0;; relax(turns)) {
        std::uint32_t nobody = 0;
        held_ = entry_.turn.compare_exchange_strong(nobody, requester.qp_num,
                                                    std::memory_order_seq_cst);
        if (held_) {
            fault_point(FaultPoint::kTransferMarked);
            return;
        }
        if (turns % kTurnsBeforeClock != kTurnsBeforeClock - 1) continue;
        if (patience == Deadline{}) patience = Clock::now() + kLongestTurn;
        if (Clock::now() > patience) return;
    }
}

Turn::~Turn() {
    if (held_) entry_.turn.store(0, std::memory_order_release);
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (held_) fault_point(FaultPoint::kTransferEnded);
}

void DatagramSender::note_port(std::uint8_t port, bool has_detour) {
    port_ = port;
    open_port_ = has_detour ? kNowhere : port;
}

Outcome DatagramSender::send(const SendWork& work) {
    const AddressVector& address = *work.address;
    if (address.own_port != open_port_ || address.pd != qp_.domain().number()) [[unlikely]]
        if (const auto instead = detour(work)) return *instead;
    if (work.length > kDatagramMtu) return done(IBV_WC_LOC_LEN_ERR);
    if (!plan(work) || !fetch(work)) return done(IBV_WC_LOC_PROT_ERR);
    if (!address.is_unicast()) [[unlikely]]
        return send_to_group(work);
    return send_to(static_cast<std::uint32_t>(work.remote_addr), work);
}

bool DatagramSender::plan(const SendWork& work) {
    plan_.num_local = work.num_segments;
    plan_.length = work.length;
    for (std::uint32_t i = 0; i < work.num_segments; ++i) {
        const Segment& segment = work.segments[i];
        plan_.local[i] = {
            segment.address, segment.length, {}, reinterpret_cast<std::uint8_t*>(segment.address)};
        if (work.is_inline() || segment.length == 0) continue;
        const CheckedRange range = check_own_key(qp_.adapter(), segment.key, qp_.domain().number(),
                                                 0, segment.address, segment.length);
        if (!range.permitted) return false;
        plan_.local[i] = {range.address, segment.length, range.shared, nullptr};
    }
    return true;
}

/// Makes the payload readable, before a turn is taken. The kernel reads memory that is not
/// shared from birth. @return false when the program has unmapped or protected it.
bool DatagramSender::fetch(const SendWork& work) {
    const Adapter& adapter = qp_.adapter();
    if (resolve_local(adapter.own_pages(), plan_)) return true;
    if (read_into_file(adapter.arena_fd(), qp_.staging(), plan_.locals()) != 0) return false;
    plan_.num_local = 1;
    plan_.local[0] = {0, work.length, {}, adapter.view().base() + qp_.staging()};
    return true;
}

Outcome DatagramSender::send_to(std::uint32_t qp_num, const SendWork& work) {
    DatagramTarget& target = targets_.find(qp_num);
    if (target.state == DatagramTarget::State::kAsked)
        return {Progress::kUnresolved, IBV_WC_SUCCESS};
    if (target.state == DatagramTarget::State::kBound) deliver(target, work);
    return done(IBV_WC_SUCCESS);
}

/// Sends a copy to each queue pair in the group, once all of them have been found. As on
/// adapters, they include the sender's own, unless it was created with
/// IBV_QP_CREATE_BLOCK_SELF_MCAST_LB.
[[gnu::noinline]] Outcome DatagramSender::send_to_group(const SendWork& work) {
    if (!work.address->is_multicast() || work.remote_addr != kMulticastQp)
        return done(IBV_WC_SUCCESS);
    const std::vector<std::uint32_t>* const members = groups_.find(*work.address);
    if (!members || !are_found(*members)) return {Progress::kUnresolved, IBV_WC_SUCCESS};
    for (const std::uint32_t qp_num : *members) {
        if (qp_num == qp_.qp_num && qp_.blocks_own_multicast_) continue;
        if (DatagramTarget* const target = targets_.bound(qp_num)) deliver(*target, work);
    }
    return done(IBV_WC_SUCCESS);
}

/// Starts the look-ups of all that are unknown or outdated. @return whether none is under way.
bool DatagramSender::are_found(const std::vector<std::uint32_t>& qp_nums) {
    bool found = true;
    for (const std::uint32_t qp_num : qp_nums)
        if (targets_.find(qp_num).state == DatagramTarget::State::kAsked) found = false;
    return found;
}

void DatagramSender::stop_waiting() {
    targets_.stop_waiting();
    groups_.stop_waiting();
}

/// A datagram that the target does not take is lost silently.
void DatagramSender::deliver(DatagramTarget& target, const SendWork& work) {
    const Turn turn(*target.target.entry, qp_);
    // Its owner finds out whether the holder is alive.
    if (!turn.held()) return target.target.kick_qp();
    if (!may_enter(target, work)) return;
    Taken taken;
    do {
        if (!take_receive(target.target, work.length, taken)) return;
        DatagramSlot* const message = target.message(taken.slot);
        if (!message) return;
        if (taken.status == IBV_WC_SUCCESS) write(*message, work);
        publish(target, taken.slot, taken.status, work);
    } while (taken.status == IBV_WC_WR_FLUSH_ERR);
    if (taken.status == IBV_WC_SUCCESS) return;
    target.target.note_fault(Fault::kLocalError);
    target.target.kick_qp();
}

bool DatagramSender::may_enter(DatagramTarget& target, const SendWork& work) const {
    const QpEntry& entry = *target.target.entry;
    const std::uint32_t key =
        (work.rkey & kControlledKey) != 0 ? qp_.entry().qkey.load() : work.rkey;
    const std::uint8_t port = work.address->port;
    return target.is_current() && (port == AddressVector::kAnyPort || target.target.is_at(port)) &&
           entry.readiness.load(std::memory_order_seq_cst) == Readiness::kReady &&
           entry.qkey.load(std::memory_order_acquire) == key;
}

/// Takes a receive, unless it is too short: then it stays posted for a message that fits.
bool DatagramSender::take_receive(const Target& target, std::uint64_t length, Taken& taken) {
    if (target.receives.shared) return take_shared(target, length, taken);
    taken.slot = target.entry->consumed.load(std::memory_order_relaxed);
    ReceiveSlot& receive = *target.receives.slot(taken.slot);
    if (receive.taker.load(std::memory_order_seq_cst) != (kSlotPosted | taken.slot)) return false;
    taken.status = check_receive(target, receive, length);
    return taken.status != IBV_WC_LOC_LEN_ERR;
}

bool DatagramSender::take_shared(const Target& target, std::uint64_t length, Taken& taken) {
    bool limit_reached = false;
    const auto fits = [&](ReceiveSlot& receive) {
        taken.status = check_receive(target, receive, length);
        return taken.status != IBV_WC_LOC_LEN_ERR;
    };
    const ReceiveSlot* const receive =
        take_shared_receive(target.receives, target.qp_num, taken.slot, limit_reached, fits);
    if (limit_reached) target.kick_srq();
    return receive != nullptr;
}

/// Checks whether the receive can hold the route header and `length` bytes.
ibv_wc_status DatagramSender::check_receive(const Target& target, ReceiveSlot& receive,
                                            std::uint64_t length) {
    const SrqHeader* const shared = target.receives.shared;
    const std::uint32_t pd = shared ? shared->pd : target.pd;
    const std::uint32_t count = std::min(receive.num_sge, target.receives.max_sge);
    std::uint64_t left = sizeof(ibv_grh) + length;
    for (std::uint32_t i = 0; i < count && left != 0; ++i) {
        const Segment segment = slot_segments(&receive)[i];
        const std::uint64_t part = std::min<std::uint64_t>(segment.length, left);
        if (part == 0) continue;
        const CheckedRange range =
            check_key(target.arena, segment.key, pd, IBV_ACCESS_LOCAL_WRITE, segment.address, part);
        if (!range.permitted) return refusal_of(target.arena, segment.key);
        left -= part;
    }
    return left == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

/// Not inline, so that datagrams without a header do not pay for its registers.
[[gnu::noinline]] void DatagramSender::write_header(ibv_grh& header, const SendWork& work) const {
    const AddressVector& address = *work.address;
    const bool has_immediate = work.opcode == IBV_WR_SEND_WITH_IMM;
    const std::uint64_t padded = (work.length + 3) / 4 * 4;
    const auto length =
        static_cast<std::uint16_t>(padded + kOtherHeaders + (has_immediate ? 4 : 0));
    const Process& process = qp_.adapter().process();
    if (address.sgid_index != 0) [[unlikely]]
        return write_roce_header(header, address, process, length);
    header.version_tclass_flow = address.version_tclass_flow;
    header.paylen = htobe16(length);
    header.next_hdr = kNextIsTransport;
    header.hop_limit = address.hop_limit;
    header.sgid = process.first_gid(PortId::at(address.own_port));
    header.dgid = address.dgid;
}

void DatagramSender::write(DatagramSlot& slot, const SendWork& work) const {
    const AddressVector& address = *work.address;
    slot.sl = address.sl;
    slot.port = address.own_port;
    if (address.is_global) write_header(slot.grh, work);
    gather(slot.payload, plan_.locals());
    fault_point(FaultPoint::kPayloadPlaced);
}

void DatagramSender::publish(DatagramTarget& to, std::uint32_t slot, ibv_wc_status status,
                             const SendWork& work) const {
    Target& target = to.target;
    Completion completion;
    completion.byte_len = static_cast<std::uint32_t>(sizeof(ibv_grh) + work.length);
    completion.qp_num = target.qp_num;
    completion.src_qp = qp_.qp_num;
    completion.position = slot;
    completion.status = static_cast<std::uint8_t>(status);
    if (status == IBV_WC_SUCCESS) completion.flags = kInSlot;
    if ((work.flags & IBV_SEND_SOLICITED) != 0) completion.flags |= kSolicited;
    if (work.address->is_global) completion.wc_flags |= IBV_WC_GRH;
    if (work.opcode == IBV_WR_SEND_WITH_IMM) {
        completion.imm_data = work.imm_data;
        completion.wc_flags |= IBV_WC_WITH_IMM;
    }
    CompletionRing& ring = target.completion_ring();
    const CompletionRing::Place place = ring.claim(target.qp_num, Producer::kRequester);
    if (!target.receives.shared) target.entry->consumed.store(slot + 1, std::memory_order_release);
    fault_point(FaultPoint::kReceiveConsumed);
    if (!place.entry) {
        target.completions->overrun.store(1, std::memory_order_release);
        return target.kick_cq();
    }
    const Wake wake = ring.publish(place, completion);
    if (wake != Wake::kNone) target.wake(wake);
    if (status == IBV_WC_SUCCESS) qp_.note_unplaced(place.position, to.unplaced);
}

}  // namespace softverbs
