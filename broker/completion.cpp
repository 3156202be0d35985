// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completions on adapter instances with the broker. What a transfer uses is recorded in its slot;
/// what a shared receive uses is in a record whose number its slot holds in place of the cookie
/// (use_records.hpp).
#include "dapl/evd/completion.hpp"
#include "broker/entry.hpp"
#include "broker/registrations.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/plain_completion.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/evd/dequeue.hpp"
#include "support/trace/trace_slots.hpp"

namespace dapl::memory {
namespace {

/// Ends the uses of a transfer that has completed, and of the suppressed ones before it. The lock
/// of the EVD is held.
[[gnu::always_inline]] inline void end_uses_up_to(Registrations& registrations, SlotRing& slots,
                                                  std::uint64_t id) {
    const auto sequence = static_cast<std::uint32_t>(id) & SlotRing::kSequenceMask;
    std::uint32_t next = slots.first_sequence();
    for (;; next = (next + 1) & SlotRing::kSequenceMask) {
        // The poster writes `operation` after the use: this load makes the use visible here.
        static_cast<void>(slots.at(next).operation.load(std::memory_order_acquire));
        if (const TransferUse use = slots.take_use(next)) registrations.end_use(use);
        if (next == sequence) return;
    }
}

struct EndUsesAndRelease {
    [[gnu::always_inline]] void operator()(const Ep& ep, SlotRing& slots, std::uint64_t id) const {
        end_uses_up_to(*registrations_of(ep.ia), slots, id);
        slots.release(id);
    }
};

[[gnu::always_inline]] inline bool take_plain(const Pool& eps, LastEps& last,
                                              const ibv_wc& completion, DAT_EVENT& event) {
    return take_plain_completion(eps, last, completion, event, EndUsesAndRelease{});
}

/// Ends the uses of a shared receive. @return the consumer's cookie.
DAT_UINT64 end_shared_use(Registrations& registrations, const ibv_wc& completion) {
    SharedSlots::Receive receive{};
    shared_queue(completion).peek(WorkRequestId(completion.wr_id).sequence, receive);
    const DAT_UINT64 cookie = registrations.records.cookie_of(receive.cookie.as_64);
    registrations.end(receive.cookie.as_64, Use::kHold);
    return cookie;
}

}  // namespace

FailedTransfer Registrations::take_completion(const ibv_wc& completion, DAT_EVENT& event) {
    const WorkRequestId id(completion.wr_id);
    if (!id.shared) {
        end_uses_up_to(*this, pool_of(Kind::kEp).at<Ep>(id.index)->side(id.receive).slots,
                       id.sequence);
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
    const DAT_RETURN code = support::data_path_traced() ? Evd::dequeue_traced(handle, event)
                                                        : evd->dequeue(event, take_plain);
    registrations.settle();
    return code;
}

}  // namespace dapl::memory
