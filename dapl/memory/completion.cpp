// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/memory/completion.hpp"

namespace dapl::memory {
namespace {

DAT_UINT64 end_shared_use(Registrations& registrations, const ibv_wc& completion) {
    SharedSlots::Receive receive{};
    shared_queue(completion).peek(WorkRequestId(completion.wr_id).sequence, receive);
    const DAT_UINT64 cookie = registrations.records.cookie_of(receive.cookie.as_64);
    registrations.end(receive.cookie.as_64);
    return cookie;
}

}  // namespace

FailedTransfer take_completion(const Ia& ia, const ibv_wc& completion, DAT_EVENT& event) {
    const WorkRequestId id(completion.wr_id);
    Registrations& registrations = *ia.registrations;
    DAT_UINT64 cookie;
    if (id.shared) {
        cookie = end_shared_use(registrations, completion);
    } else {
        const Ep& ep = *pool_of(Kind::kEp).at<Ep>(id.index);
        cookie = end_uses_up_to(registrations, ep.side(id.receive).slots, id.sequence);
    }
    const FailedTransfer failed = dapl::take_completion(ia, completion, event);
    if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT)
        event.event_data.rmr_completion_event_data.user_cookie.as_64 = cookie;
    else
        event.event_data.dto_completion_event_data.user_cookie.as_64 = cookie;
    return failed;
}

void end_uses(const Ia& ia, const SlotRing& slots) {
    std::uint32_t next = slots.first_sequence();
    for (std::uint32_t left = slots.posted(); left > 0; --left) {
        ia.registrations->end(slots.at(next).cookie);
        next = (next + 1) & SlotRing::kSequenceMask;
    }
}

}  // namespace dapl::memory
