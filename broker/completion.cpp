// SPDX-License-Identifier: BSD-2-Clause
#include "broker/completion.hpp"

#include "broker/entry.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/evd/completion.hpp"
#include "dapl/evd/dequeue.hpp"
#include "support/trace/trace_slots.hpp"

namespace dapl::memory {
namespace {

/// Ends the uses of a shared receive. @return the consumer's cookie.
DAT_UINT64 end_shared_use(Registrations& registrations, const ibv_wc& completion) {
    SharedSlots::Receive receive{};
    shared_queue(completion).peek(WorkRequestId(completion.wr_id).sequence, receive);
    const DAT_UINT64 cookie = registrations.records.cookie_of(receive.cookie.as_64);
    registrations.end(receive.cookie.as_64, Use::kHold);
    return cookie;
}

}  // namespace

std::unique_ptr<SlotShadow> Registrations::make_shadow() {
    return std::make_unique<SideUses>(*this);
}

void SideUses::end_all() {
    support::SpinLockGuard guard(lock);
    if (!entries_) return;
    for (std::uint32_t i = 0; i <= mask_; ++i) end_entry(registrations_, take(i));
}

FailedTransfer Registrations::take_completion(const ibv_wc& completion, DAT_EVENT& event) {
    const WorkRequestId id(completion.wr_id);
    if (!id.shared) {
        end_uses_up_to(*pool_of(Kind::kEp).at<Ep>(id.index), id.receive, id.sequence);
        return dapl::take_completion(ia, completion, event);
    }
    const DAT_UINT64 cookie = end_shared_use(*this, completion);
    const FailedTransfer failed = dapl::take_completion(ia, completion, event);
    event.event_data.dto_completion_event_data.user_cookie.as_64 = cookie;
    return failed;
}

DAT_RETURN entry::evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT* event) {
    Evd* evd = from_called_handle<Evd>(handle);
    if (!evd) return error(DAT_INVALID_HANDLE);
    if (!event) return bad_argument(2);
    // Found first, because the EVD may be freed during the call.
    Registrations& registrations = *registrations_of(evd->ia);
    const DAT_RETURN code = support::data_path_traced()
                                ? Evd::dequeue_traced(handle, event)
                                : evd->dequeue(event, take_plain_completion);
    registrations.settle();
    return code;
}

}  // namespace dapl::memory
