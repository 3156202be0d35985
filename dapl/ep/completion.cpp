// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/evd/completion.hpp"

#include <dat2/dat_extensions.h>
#include <dat2/dat_ib_extensions.h>

#include <cstddef>
#include <cstring>

#include "dapl/adapter/ia.hpp"
#include "dapl/base/pool.hpp"
#include "dapl/ep/completion_status.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/ep_numbers.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/memory/rmr.hpp"
#include "dapl/transfer/work_request.hpp"

namespace dapl {
namespace {

/// @return the EP that a wr_id names, if it still has the queue pair of that work request; else
/// nullptr.
Ep* current_ep(const WorkRequestId& id) {
    Ep* ep = pool_of(Kind::kEp).at<Ep>(id.index);
    if (!ep) return nullptr;
    const Side& side = ep->side(id.receive);
    return side.work_request_base.load(std::memory_order_acquire) == id.side_base ? ep : nullptr;
}

/// Notes the completion of a request that the EP posted for itself: a marker or the first half of a
/// pair (WorkRequestId).
void take_marker(const WorkRequestId& id, const ibv_wc& completion) {
    Ep* ep = current_ep(id);
    if (!ep) return;
    const bool failed =
        completion.status != IBV_WC_SUCCESS && completion.status != IBV_WC_WR_FLUSH_ERR;
    switch (id.sequence) {
        case WorkRequestId::kInvalidation:
            if (failed) ep->invalidation_failed.store(true, std::memory_order_relaxed);
            return;
        case WorkRequestId::kFirstOfPair:
            if (failed) ep->first_half_status.store(completion.status, std::memory_order_relaxed);
            return;
        default:
            ep->requests.finished.store(true, std::memory_order_release);
    }
}

bool length_counts_on_error(std::uint32_t operation) {
    return operation == DAT_DTO_SEND || operation == DAT_DTO_RDMA_WRITE ||
           operation == DAT_IB_DTO_RDMA_WRITE_IMMED || operation == DAT_IB_DTO_SEND_IMMED;
}

DAT_SEG_LENGTH request_length(ibv_wc_status status, DAT_SEG_LENGTH posted,
                              std::uint32_t operation) {
    const bool counts = status == IBV_WC_SUCCESS || length_counts_on_error(operation);
    return counts ? posted : 0;
}

/// The kind of message that was received is known only on success.
/// @param posted operation that the receive was posted as.
std::uint32_t receive_operation(const Ep& ep, const ibv_wc& completion, std::uint32_t posted) {
    if (completion.status != IBV_WC_SUCCESS) return DAT_DTO_RECEIVE;
    if (posted == DAT_IB_DTO_RECV_UD)
        return completion.wc_flags & IBV_WC_WITH_IMM ? std::uint32_t{DAT_IB_DTO_RECV_UD_IMMED}
                                                     : posted;
    if (completion.wc_flags & IBV_WC_WITH_INV) return DAT_DTO_RECEIVE_WITH_INVALIDATE;
    if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) return DAT_IB_DTO_RECV_IMMED;
    if (completion.wc_flags & IBV_WC_WITH_IMM) return DAT_IB_DTO_RECV_MSG_IMMED;
    if (posted == DAT_IB_DTO_RECV_IMMED && !ep.ia.is_infiniband() &&
        completion.byte_len == sizeof(DAT_UINT32))
        return posted;  // FollowedBy::kNumber at the peer
    return DAT_DTO_RECEIVE;
}

DAT_EP_COUNTERS receive_counter(std::uint32_t operation) {
    switch (operation) {
        case DAT_IB_DTO_RECV_IMMED:
            return DCNT_EP_RECV_RDMA_IMM;
        case DAT_IB_DTO_RECV_MSG_IMMED:
            return DCNT_EP_RECV_IMM;
        case DAT_IB_DTO_RECV_UD:
            return DCNT_EP_RECV_UD;
        default:
            return DCNT_EP_RECV;
    }
}

/// Type of an extension event in the two interfaces: dat_ib_extensions.h, and the earlier proposal
/// (dat_extensions.h), 0 if that has none.
struct ExtensionType {
    DAT_IB_EXT_TYPE type;
    std::uint32_t proposed;
};

ExtensionType extension_type(std::uint32_t operation) {
    switch (operation) {
        case DAT_IB_DTO_FETCH_ADD:
            return {DAT_IB_FETCH_AND_ADD, DAT_EXT_FETCH_AND_ADD_STATUS};
        case DAT_IB_DTO_CMP_SWAP:
            return {DAT_IB_CMP_AND_SWAP, DAT_EXT_CMP_AND_SWAP_STATUS};
        case DAT_IB_DTO_RDMA_WRITE_IMMED:
            return {DAT_IB_RDMA_WRITE_IMMED, DAT_EXT_RDMA_WRITE_IMMED_STATUS};
        case DAT_IB_DTO_SEND_IMMED:
            return {DAT_IB_SEND_IMMED, 0};
        case DAT_IB_DTO_RECV_IMMED:
        case DAT_IB_DTO_RECV_MSG_IMMED:
            return {DAT_IB_RDMA_WRITE_IMMED_DATA, DAT_EXT_RECV_IMMED_DATA_EVENT};
        case DAT_IB_DTO_SEND_UD:
            return {DAT_IB_UD_SEND, 0};
        case DAT_IB_DTO_RECV_UD:
        case DAT_IB_DTO_RECV_UD_IMMED:
            return {DAT_IB_UD_RECV, 0};
        default:
            return {DAT_IB_RECV_NO_IMMED, DAT_EXT_RECV_NO_IMMED};
    }
}

/// Contents of a slot that was freed.
struct Taken {
    DAT_DTO_COOKIE cookie;
    DAT_SEG_LENGTH length;
    std::uint32_t operation;
};

Taken take_slot(SlotRing& slots, std::uint32_t sequence) {
    const Slot& slot = slots.at(sequence);
    const std::uint32_t operation = slot.operation.load(std::memory_order_acquire);
    Taken taken{{}, slot.length, operation & ~Slot::kSuppressed};
    taken.cookie.as_64 = slot.cookie;
    slots.release(sequence);
    return taken;
}

Taken take_shared_slot(Ep& ep, const ibv_wc& completion) {
    SharedSlots::Receive receive{};
    shared_queue(completion).take(WorkRequestId(completion.wr_id).sequence, receive);
    ep.shared->taken();
    return {receive.cookie, 0, ep.receive_operation()};
}

void write_extension(const ibv_wc& completion, DAT_EVENT& event) {
    DAT_EXTENSION_EVENT_DATA& proposed = event.event_data.extension_data;
    static_assert(offsetof(DAT_EXTENSION_EVENT_DATA, type) == 32);
    static_assert(offsetof(DAT_EXTENSION_EVENT_DATA, val) == 36);
    event.event_number = static_cast<DAT_EVENT_NUMBER>(DAT_IB_DTO_EVENT);
    ExtensionType names = extension_type(proposed.dto.operation);
    DAT_IB_EXTENSION_EVENT_DATA extension;
    std::memset(&extension, 0, sizeof extension);
    extension.type = names.type;
    extension.status = static_cast<DAT_IB_STATUS>(proposed.dto.status);
    // Immediate data is passed on as the peer's consumer gave it; verbs does not swap it either.
    if (names.type == DAT_IB_RDMA_WRITE_IMMED_DATA ||
        proposed.dto.operation == static_cast<DAT_DTOS>(DAT_IB_DTO_RECV_UD_IMMED)) {
        if (completion.wc_flags & IBV_WC_WITH_IMM)
            extension.val.immed.data = completion.imm_data;
        else
            names.proposed = DAT_EXT_RECV_IMMED_DATA_PAYLOAD;
    }
    if (names.type == DAT_IB_UD_RECV) extension.remote_ah.qpn = completion.src_qp;
    proposed.type = names.proposed;
    proposed.val.immed.data = extension.val.immed.data;
    static_assert(sizeof extension <= sizeof event.event_extension_data);
    std::memcpy(event.event_extension_data, &extension, sizeof extension);
}

/// Writes the event of a bind or unbind. A bind that was flushed because the invalidation before it
/// failed counts as failed.
/// @return whether it failed, flushes not counted.
bool write_bind_event(Ep& ep, const ibv_wc& completion, const Taken& slot, DAT_EVENT& event) {
    const bool well = completion.status == IBV_WC_SUCCESS;
    const bool flushed = completion.status == IBV_WC_WR_FLUSH_ERR &&
                         !ep.invalidation_failed.exchange(false, std::memory_order_relaxed);
    DAT_RMR_BIND_COMPLETION_EVENT_DATA& bind = event.event_data.rmr_completion_event_data;
    event.event_number = DAT_RMR_BIND_COMPLETION_EVENT;
    // The RMR may have been freed since: slots of the pool stay.
    bind.rmr_handle = pool_of(Kind::kRmr).at<Rmr>(slot.operation >> Slot::kRmrShift)->handle();
    ep.ia.rmr_table->completed(slot.length, well);
    bind.user_cookie = slot.cookie;
    bind.status = well      ? DAT_RMR_BIND_SUCCESS
                  : flushed ? DAT_DTO_ERR_FLUSHED
                            : DAT_RMR_OPERATION_FAILED;
    return !well && !flushed;
}

/// @return the status for the event: of a pair, the first's if that failed.
ibv_wc_status final_status(Ep& ep, const ibv_wc& completion, const Taken& slot) {
    if ((slot.operation & Slot::kSecondHalf) == 0) return completion.status;
    const ibv_wc_status first =
        ep.first_half_status.exchange(IBV_WC_SUCCESS, std::memory_order_relaxed);
    return first == IBV_WC_SUCCESS ? completion.status : first;
}

/// @return the EP of a current completion of a shared receive; nullptr for all others.
Ep* shared_receiver(const Ia& ia, const ibv_wc& completion) {
    const bool shared = WorkRequestId(completion.wr_id).shared;
    return shared ? ia.ep_numbers->find(completion.qp_num) : nullptr;
}

Ep& ep_of(const Ia& ia, const ibv_wc& completion, const WorkRequestId& id) {
    Ep* const ep =
        id.shared ? ia.ep_numbers->find(completion.qp_num) : pool_of(Kind::kEp).at<Ep>(id.index);
    if (!ep) __builtin_unreachable();  // makes_event() dropped such completions
    return *ep;
}

}  // namespace

Srq& shared_queue(const ibv_wc& completion) {
    return *pool_of(Kind::kSrq).at<Srq>(WorkRequestId(completion.wr_id).index);
}

const Srq* shared_queue_of(const Ia& ia, const ibv_wc& completion) {
    return shared_receiver(ia, completion) ? &shared_queue(completion) : nullptr;
}

std::uint32_t post_order(const ibv_wc& completion) {
    const WorkRequestId id(completion.wr_id);
    SharedSlots::Receive receive{};
    receive.order = id.sequence;
    if (id.shared) shared_queue(completion).peek(id.sequence, receive);
    return receive.order & SlotRing::kSequenceMask;
}

bool makes_event(const Ia& ia, const ibv_wc& completion) {
    const WorkRequestId id(completion.wr_id);
    if (id.marker) {
        take_marker(id, completion);
        return false;
    }
    if (!id.shared) return current_ep(id) != nullptr;
    const Ep* receiver = shared_receiver(ia, completion);
    if (receiver) receiver->shared->arrived();
    return receiver != nullptr;
}

Side& side_of(const Ia& ia, const ibv_wc& completion) {
    const WorkRequestId id(completion.wr_id);
    Ep& ep = ep_of(ia, completion, id);
    return ep.side(id.receive);
}

FailedTransfer take_completion(const Ia& ia, const ibv_wc& completion, DAT_EVENT& event) {
    const WorkRequestId id(completion.wr_id);
    Ep& ep = ep_of(ia, completion, id);
    const Taken slot = id.shared ? take_shared_slot(ep, completion)
                                 : take_slot(ep.side(id.receive).slots, id.sequence);
    if (!id.receive && completion.status == IBV_WC_WR_FLUSH_ERR)
        ep.requests.taken_flushed.fetch_add(1, std::memory_order_relaxed);
    if (!id.receive && (slot.operation & Slot::kOperationMask) == DAT_DTO_BIND_MW) {
        if (!write_bind_event(ep, completion, slot, event)) return {};
        return {ep.handle(), completion.status, DAT_DTO_BIND_MW};
    }

    const ibv_wc_status status = final_status(ep, completion, slot);
    DAT_DTO_COMPLETION_EVENT_DATA& dto = event.event_data.dto_completion_event_data;
    const std::uint32_t operation = id.receive ? receive_operation(ep, completion, slot.operation)
                                               : slot.operation & ~Slot::kSecondHalf;
    event.event_number = DAT_DTO_COMPLETION_EVENT;
    dto.ep_handle = ep.handle();
    dto.user_cookie = slot.cookie;
    dto.status = dto_status(status);
    dto.operation = static_cast<DAT_DTOS>(operation);
    dto.rmr_context = 0;
    if (operation == DAT_DTO_RECEIVE_WITH_INVALIDATE) {
        dto.rmr_context = completion.invalidated_rkey;
        ep.ia.rmr_table->invalidated(completion.invalidated_rkey);
    }
    if (!id.receive)
        dto.transfered_length = request_length(status, slot.length, operation);
    else
        dto.transfered_length = status == IBV_WC_SUCCESS ? completion.byte_len : 0;
    if (id.receive && status == IBV_WC_SUCCESS)
        ep.counters.received(receive_counter(operation), completion.byte_len);
    if (operation >= DAT_DTO_EXTENSION_BASE || slot.operation == DAT_IB_DTO_RECV_IMMED)
        write_extension(completion, event);
    const bool failed = status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR;
    return failed ? FailedTransfer{ep.handle(), status, operation} : FailedTransfer{};
}

}  // namespace dapl
