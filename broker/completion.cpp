// SPDX-License-Identifier: BSD-2-Clause
#include "broker/completion.hpp"
#include "dapl/ep/srq.hpp"

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
    if (!id.shared) {
        end_uses_up_to(*pool_of(Kind::kEp).at<Ep>(id.index), id.receive, id.sequence);
        return dapl::take_completion(ia, completion, event);
    }
    const DAT_UINT64 cookie = end_shared_use(*ia.registrations, completion);
    const FailedTransfer failed = dapl::take_completion(ia, completion, event);
    event.event_data.dto_completion_event_data.user_cookie.as_64 = cookie;
    return failed;
}

void end_uses(Ep& ep, bool receive) {
    SideUses& uses = *ep.uses(receive);
    support::SpinLockGuard lock(uses.lock);
    for (std::uint32_t i = 0; i < uses.size(); ++i) end_entry(*ep.ia.registrations, uses.take(i));
}

}  // namespace dapl::memory
