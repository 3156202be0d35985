// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fast path for the most frequent completions: successful sends, writes, reads and receives of an
/// EP without an SRQ, whose events need no further work. Does what makes_event() and
/// take_completion() do, with the EVD's lock held.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "dapl/base/dat.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/transfer/work_request.hpp"

namespace dapl {

/// Returns whether a wr_id is an ordinary one of the current queue pair of this side of an EP,
/// which need not be live. If not, it is special, another EP's, or of an earlier queue pair.
[[gnu::always_inline]] inline bool is_current(const Side& side, std::uint64_t id) {
    return (id ^ side.work_request_base.load(std::memory_order_acquire)) <= SlotRing::kSequenceMask;
}

/// Finds the EP that a wr_id names. @param last the EP found last, or nullptr; becomes the EP that
/// the wr_id names. @return nullptr if the wr_id is not of that EP's current queue pair.
[[gnu::always_inline]] inline Ep* find_current(const Pool& eps, bool receive, std::uint64_t id,
                                               Ep*& last) {
    Ep* ep = last;
    if (ep && is_current(ep->side(receive), id)) [[likely]]
        return ep;
    ep = eps.at<Ep>(static_cast<std::uint32_t>(id >> WorkRequestId::kIndexShift));
    last = ep;
    return ep && is_current(ep->side(receive), id) ? ep : nullptr;
}

/// Writes all of the event but evd_handle.
[[gnu::always_inline]] inline void write_plain_event(const Ep& ep, DAT_UINT64 cookie,
                                                     std::uint32_t operation, DAT_SEG_LENGTH length,
                                                     DAT_EVENT& event) {
    DAT_DTO_COMPLETION_EVENT_DATA& dto = event.event_data.dto_completion_event_data;
    event.event_number = DAT_DTO_COMPLETION_EVENT;
    dto.ep_handle = ep.handle();
    dto.user_cookie.as_64 = cookie;
    dto.status = DAT_DTO_SUCCESS;
    dto.transfered_length = length;
    dto.operation = static_cast<DAT_DTOS>(operation);
    dto.rmr_context = 0;
}

/// Frees the slot of a completion.
struct Release {
    [[gnu::always_inline]] void operator()(const Ep&, SlotRing& slots, std::uint64_t id) const {
        slots.release(id);
    }
};

template <class Releasing>
[[gnu::always_inline]] inline bool take_plain_request(const Pool& eps, Ep*& last,
                                                      const ibv_wc& completion, DAT_EVENT& event,
                                                      const Releasing& release) {
    const std::uint64_t id = completion.wr_id;
    Ep* ep = find_current(eps, false, id, last);
    if (!ep) return false;
    const Slot& slot = ep->requests.slots.at(id);
    const std::uint32_t operation = slot.operation.load(std::memory_order_acquire);
    if (operation > DAT_DTO_RDMA_READ) return false;
    write_plain_event(*ep, slot.cookie, operation, slot.length, event);
    release(*ep, ep->requests.slots, id);
    return true;
}

template <class Releasing>
[[gnu::always_inline]] inline bool take_plain_receive(const Pool& eps, Ep*& last,
                                                      const ibv_wc& completion, DAT_EVENT& event,
                                                      const Releasing& release) {
    if (completion.opcode != IBV_WC_RECV || completion.wc_flags != 0) return false;
    const std::uint64_t id = completion.wr_id;
    Ep* ep = find_current(eps, true, id, last);
    if (!ep) return false;
    const Slot& slot = ep->receives.slots.at(id);
    if (slot.operation.load(std::memory_order_acquire) != DAT_DTO_RECEIVE) [[unlikely]]
        return false;
    write_plain_event(*ep, slot.cookie, DAT_DTO_RECEIVE, completion.byte_len, event);
    ep->counters.received(DCNT_EP_RECV, completion.byte_len);
    release(*ep, ep->receives.slots, id);
    return true;
}

/// Frees the slot of such a completion and writes its event, all but evd_handle.
/// @param eps the pool of the EPs. @param release a Release, or what does more. @return false, with
/// nothing done, for any other completion.
template <class Releasing>
[[gnu::always_inline]] inline bool take_plain_completion(const Pool& eps, LastEps& last,
                                                         const ibv_wc& completion, DAT_EVENT& event,
                                                         const Releasing& release) {
    if (completion.status != IBV_WC_SUCCESS) return false;
    return completion.wr_id & WorkRequestId::kReceive
               ? take_plain_receive(eps, last.receiver, completion, event, release)
               : take_plain_request(eps, last.requester, completion, event, release);
}

}  // namespace dapl
