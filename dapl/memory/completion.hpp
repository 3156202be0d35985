// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completions of adapter instances with the broker: the slots of the core hold the numbers of use
/// records in place of cookies (use_records.hpp). All with the lock of the EVD held, except where
/// said.
#pragma once

#include "dapl/completion.hpp"
#include "dapl/ep.hpp"
#include "dapl/ia.hpp"
#include "dapl/memory/registrations.hpp"

namespace dapl::memory {

/// As dapl::take_completion().
FailedTransfer take_completion(const Ia& ia, const ibv_wc& completion, DAT_EVENT& event);

/// The transfers of a queue pair that has ended, of which no event will come. No lock is needed.
void end_uses(const Ia& ia, const SlotRing& slots);

/// Ends the uses of a transfer that has completed, and of those before it that were suppressed.
/// @return its cookie.
[[gnu::always_inline]] inline DAT_UINT64 end_uses_up_to(Registrations& registrations,
                                                        const SlotRing& slots, std::uint64_t id) {
    const auto sequence = static_cast<std::uint32_t>(id) & SlotRing::kSequenceMask;
    const UseNumber own = slots.at(sequence).cookie;
    const DAT_UINT64 cookie = registrations.records.cookie_of(own);
    std::uint32_t next = slots.first_sequence();
    while (next != sequence) {
        // Written before the one that has completed, by posters who held the side's lock.
        const Slot& before = slots.at(next);
        static_cast<void>(before.operation.load(std::memory_order_acquire));
        registrations.end(before.cookie);
        next = (next + 1) & SlotRing::kSequenceMask;
    }
    registrations.end(own);
    return cookie;
}

/// As dapl::take_plain_completion().
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
    const DAT_UINT64 cookie = end_uses_up_to(*ep->ia.registrations, slots, id);
    write_plain_event(*ep, cookie, operation, receive ? completion.byte_len : slot.length, event);
    if (receive) ep->counters.received(DCNT_EP_RECV, completion.byte_len);
    slots.release(id);
    return true;
}

}  // namespace dapl::memory
