// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/post.hpp"

#include <dat2/dat_ib_extensions.h>

#include <cstddef>

#include "dapl/entry.hpp"
#include "dapl/ep.hpp"
#include "dapl/ia.hpp"
#include "dapl/with_slot.hpp"

namespace dapl {
namespace {

static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(ibv_sge));
static_assert(offsetof(DAT_LMR_TRIPLET, virtual_address) == offsetof(ibv_sge, addr));
static_assert(offsetof(DAT_LMR_TRIPLET, segment_length) == offsetof(ibv_sge, length));
static_assert(offsetof(DAT_LMR_TRIPLET, lmr_context) == offsetof(ibv_sge, lkey));

ibv_wr_opcode opcode_of(std::uint32_t operation) {
    switch (operation) {
        case DAT_DTO_RDMA_WRITE:
            return IBV_WR_RDMA_WRITE;
        case DAT_DTO_RDMA_READ:
            return IBV_WR_RDMA_READ;
        case DAT_IB_DTO_RDMA_WRITE_IMMED:
            return IBV_WR_RDMA_WRITE_WITH_IMM;
        case DAT_IB_DTO_FETCH_ADD:
            return IBV_WR_ATOMIC_FETCH_AND_ADD;
        case DAT_IB_DTO_CMP_SWAP:
            return IBV_WR_ATOMIC_CMP_AND_SWP;
        default:
            return IBV_WR_SEND;
    }
}

unsigned send_flags(const Ep& ep, ibv_wr_opcode opcode, DAT_SEG_LENGTH length, unsigned flags) {
    const bool reads_memory = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_INV ||
                              opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    unsigned result = 0;
    if (!(flags & DAT_COMPLETION_SUPPRESS_FLAG)) result |= IBV_SEND_SIGNALED;
    if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) result |= IBV_SEND_SOLICITED;
    if (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) result |= IBV_SEND_FENCE;
    if (reads_memory && length > 0 && length <= ep.max_inline.load(std::memory_order_relaxed) &&
        ep.ia.zero_based_lmrs.load(std::memory_order_relaxed) == 0)
        result |= IBV_SEND_INLINE;
    return result;
}

ibv_send_wr work_request(const Ep& ep, const Request& request, DAT_SEG_LENGTH length) {
    ibv_send_wr work{};
    work.sg_list = as_scatter_list(request.local);
    work.num_sge = request.segments;
    work.opcode = request.invalidates ? IBV_WR_SEND_WITH_INV : opcode_of(request.operation);
    work.send_flags = send_flags(ep, work.opcode, length, request.flags);
    work.imm_data = request.immediate;
    if (work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || work.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        work.wr.atomic.remote_addr = request.remote->virtual_address;
        work.wr.atomic.rkey = request.remote->rmr_context;
        work.wr.atomic.compare_add = request.compare_add;
        work.wr.atomic.swap = request.swap;
    } else if (request.remote) {
        work.wr.rdma.remote_addr = request.remote->virtual_address;
        work.wr.rdma.rkey = request.remote->rmr_context;
    }
    return work;
}

}  // namespace

DAT_RETURN measure(const Ia& ia, int max_segments, DAT_COUNT segments, const DAT_LMR_TRIPLET* local,
                   DAT_SEG_LENGTH& length) {
    length = 0;
    if (segments == 0) return DAT_SUCCESS;
    if (segments < 0 || segments > max_segments) return raw(DAT_INVALID_PARAMETER);
    if (!local) return bad_argument(3);
    std::uint64_t total = 0;
    for (DAT_COUNT i = 0; i < segments; ++i) total += local[i].segment_length;
    if (total > ia.port_attributes.max_msg_sz) return raw(DAT_LENGTH_ERROR);
    length = static_cast<DAT_SEG_LENGTH>(total);
    return DAT_SUCCESS;
}

DAT_RETURN post_request(DAT_EP_HANDLE handle, const Request& request, bool check_state) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    Ep::Side& side = ep->requests;
    // Before the state is looked at: a queue pair that replaces this one is not connected yet.
    support::SpinLockGuard lock(side.lock);
    if (check_state && !is_legal(EpCall::kPostRequest, ep->state.get()))
        return error(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
    if (request.operation != DAT_DTO_SEND && !request.remote) return bad_argument(5);
    if (!side.queue_pair) return kNoQueuePair;
    DAT_SEG_LENGTH length;
    const DAT_RETURN refused =
        measure(ep->ia, side.max_segments, request.segments, request.local, length);
    if (refused != DAT_SUCCESS) return refused;
    if (side.slots.limit() == 0) return raw(DAT_INTERNAL_ERROR);
    ibv_send_wr work = work_request(*ep, request, length);
    return with_slot(side, {request.cookie, length, request.operation},
                     [&work](ibv_qp* queue_pair, std::uint64_t id) {
                         ibv_send_wr* refused_work;
                         work.wr_id = id;
                         return ibv_post_send(queue_pair, &work, &refused_work);
                     });
}

namespace entry {

DAT_RETURN ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) {
    return post_request(ep, {DAT_DTO_SEND, segments, local, cookie, nullptr, flags}, true);
}

DAT_RETURN ep_post_send_with_invalidate(DAT_EP_HANDLE handle, DAT_COUNT segments,
                                        DAT_LMR_TRIPLET* local, DAT_DTO_COOKIE cookie,
                                        DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
                                        DAT_RMR_CONTEXT context) {
    const Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (!ep->ia.has_windows(IBV_MW_TYPE_2)) return raw(DAT_MODEL_NOT_SUPPORTED);
    Request request{DAT_DTO_SEND, segments, local, cookie, nullptr, flags};
    request.invalidates = invalidate != DAT_FALSE;
    request.immediate = context;
    return post_request(handle, request, true);
}

DAT_RETURN ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                              DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                              DAT_COMPLETION_FLAGS flags) {
    return post_request(ep, {DAT_DTO_RDMA_WRITE, segments, local, cookie, remote, flags}, true);
}

DAT_RETURN ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                             DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                             DAT_COMPLETION_FLAGS flags) {
    return post_request(ep, {DAT_DTO_RDMA_READ, segments, local, cookie, remote, flags}, true);
}

DAT_RETURN ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET* local,
                        DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (ep->shared) return error(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    Ep::Side& side = ep->receives;
    support::SpinLockGuard lock(side.lock);
    if (!side.queue_pair) return kNoQueuePair;
    DAT_SEG_LENGTH length;
    const DAT_RETURN refused = measure(ep->ia, side.max_segments, segments, local, length);
    if (refused != DAT_SUCCESS) return refused;
    if (side.slots.limit() == 0) return raw(DAT_INTERNAL_ERROR);
    ibv_recv_wr work{};
    work.sg_list = as_scatter_list(local);
    work.num_sge = segments;
    return with_slot(side, {cookie, length, DAT_DTO_RECEIVE},
                     [&work](ibv_qp* queue_pair, std::uint64_t id) {
                         ibv_recv_wr* refused_work;
                         work.wr_id = id;
                         return ibv_post_recv(queue_pair, &work, &refused_work);
                     });
}

}  // namespace entry
}  // namespace dapl
