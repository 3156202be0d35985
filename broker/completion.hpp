// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completions on adapter instances with the broker. What a transfer uses is recorded beside its
/// slot (side_uses.hpp); what a shared receive uses is in a record whose number its slot holds in
/// place of the cookie (use_records.hpp). end_uses_up_to() and take_plain_completion() require the
/// lock of the EVD.
#pragma once

#include "broker/registrations.hpp"
#include "broker/side_uses.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/plain_completion.hpp"

namespace dapl::memory {

[[gnu::always_inline]] inline void end_entry(Registrations& registrations, SideUses::Entry entry) {
    if (!entry) return;
    const Use use = entry & SideUses::kHolds ? Use::kHold : Use::kRequest;
    if (entry & SideUses::kRecord)
        registrations.end(entry >> SideUses::kRecordShift, use);
    else
        registrations.end_use(*reinterpret_cast<Registration*>(entry & ~SideUses::kHolds), use);
}

/// Ends the uses of a transfer that has completed, and of the suppressed ones before it.
[[gnu::always_inline]] inline void end_uses_up_to(const Ep& ep, bool receive, std::uint64_t id) {
    SideUses& uses = uses_of(ep.side(receive));
    Registrations& registrations = *registrations_of(ep.ia);
    const SlotRing& slots = ep.side(receive).slots;
    const auto sequence = static_cast<std::uint32_t>(id) & SlotRing::kSequenceMask;
    std::uint32_t next = slots.first_sequence();
    for (;; next = (next + 1) & SlotRing::kSequenceMask) {
        // The poster writes `operation` after the entry, with the side's lock held: this load makes
        // the entry visible here.
        static_cast<void>(slots.at(next).operation.load(std::memory_order_acquire));
        end_entry(registrations, uses.take(next));
        if (next == sequence) return;
    }
}

/// Does what dapl::take_plain_completion() does, and ends the uses of the transfer.
[[gnu::always_inline]] inline bool take_plain_completion(const Pool& eps, LastEps& last,
                                                         const ibv_wc& completion,
                                                         DAT_EVENT& event) {
    if (completion.status != IBV_WC_SUCCESS) return false;
    const std::uint64_t id = completion.wr_id;
    const bool receive = (id & WorkRequestId::kReceive) != 0;
    if (receive && (completion.opcode != IBV_WC_RECV || completion.wc_flags != 0)) return false;
    Ep* ep = find_current(eps, receive, id, receive ? last.receiver : last.requester);
    if (!ep) return false;
    SlotRing& slots = ep->side(receive).slots;
    const Slot& slot = slots.at(id);
    const std::uint32_t operation = slot.operation.load(std::memory_order_acquire);
    if (receive ? operation != DAT_DTO_RECEIVE : operation > DAT_DTO_RDMA_READ) return false;
    end_uses_up_to(*ep, receive, id);
    write_plain_event(*ep, slot.cookie, operation, receive ? completion.byte_len : slot.length,
                      event);
    if (receive) ep->counters.received(DCNT_EP_RECV, completion.byte_len);
    slots.release(id);
    return true;
}

}  // namespace dapl::memory
