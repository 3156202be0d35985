// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fast path of posts: those that need no checks beyond what is inlined here, as nearly all do.
#pragma once

#include <dat2/dat_ib_extensions.h>

#include <cstddef>

#include "dapl/ep/ep.hpp"
#include "dapl/ep/post.hpp"
#include "dapl/ep/with_slot.hpp"
#include "dapl/verbs/post.hpp"

namespace dapl {

static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(ibv_sge));
static_assert(offsetof(DAT_LMR_TRIPLET, virtual_address) == offsetof(ibv_sge, addr));
static_assert(offsetof(DAT_LMR_TRIPLET, segment_length) == offsetof(ibv_sge, length));
static_assert(offsetof(DAT_LMR_TRIPLET, lmr_context) == offsetof(ibv_sge, lkey));

[[gnu::always_inline]] inline ibv_wr_opcode opcode_of(std::uint32_t operation) {
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
        case DAT_IB_DTO_SEND_IMMED:
            return IBV_WR_SEND_WITH_IMM;
        default:
            return IBV_WR_SEND;
    }
}

[[gnu::always_inline]] inline ibv_wr_opcode opcode_of(const Request& request) {
    if (request.invalidates) return IBV_WR_SEND_WITH_INV;
    if (request.is_plain_write) return IBV_WR_RDMA_WRITE;
    return opcode_of(request.operation);
}

[[gnu::always_inline]] inline bool is_send(std::uint32_t operation) {
    return operation == DAT_DTO_SEND || operation == DAT_IB_DTO_SEND_IMMED;
}

[[gnu::always_inline]] inline bool reads_memory(ibv_wr_opcode opcode) {
    return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_INV ||
           opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE ||
           opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/// Carries immediate data or an rkey to invalidate.
[[gnu::always_inline]] inline bool has_number(ibv_wr_opcode opcode) {
    return opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_SEND_WITH_IMM ||
           opcode == IBV_WR_SEND_WITH_INV;
}

[[gnu::always_inline]] inline bool is_atomic(ibv_wr_opcode opcode) {
    return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

/// Writes only the members that a device reads for this kind of request: a work request is large.
[[gnu::always_inline]] inline void write_work_request(ibv_send_wr& work, const Ep& ep,
                                                      const Request& request, DAT_SEG_LENGTH length)
    REQUIRES(ep.requests.lock) {
    const ibv_wr_opcode opcode = opcode_of(request);
    work.next = nullptr;
    work.sg_list = as_scatter_list(request.local);
    work.num_sge = request.segments;
    work.opcode = opcode;
    unsigned flags = send_flags(request.flags);
    if (reads_memory(opcode) && length - 1 < ep.requests.max_inline) [[likely]]  // false for 0
        flags |= IBV_SEND_INLINE;
    work.send_flags = flags;
    if (has_number(opcode)) work.imm_data = request.immediate;
    if (!request.remote) return;
    if (is_atomic(opcode)) {
        work.wr.atomic.remote_addr = request.remote->virtual_address;
        work.wr.atomic.rkey = request.remote->rmr_context;
        work.wr.atomic.compare_add = request.compare_add;
        work.wr.atomic.swap = request.swap;
    } else {
        work.wr.rdma.remote_addr = request.remote->virtual_address;
        work.wr.rdma.rkey = request.remote->rmr_context;
    }
}

/// Returns whether a transfer can be posted without further checks, as nearly all can.
[[gnu::always_inline]] inline bool is_plain(Side& side, DAT_COUNT segments,
                                            const DAT_LMR_TRIPLET* local) REQUIRES(side.lock) {
    return segments == 1 && local && local->segment_length <= side.max_message &&
           side.slots.has_room();
}

/// Hands a work request to the device. A slot is free. @param work all but its wr_id is set.
[[gnu::always_inline]] inline DAT_RETURN submit(Ep& ep, const Request& request,
                                                DAT_SEG_LENGTH length, ibv_send_wr& work)
    REQUIRES(ep.requests.lock) {
    const std::uint32_t operation = request.operation | Slot::suppression(request.flags);
    const DAT_RETURN code = with_room(
        ep.requests, request.cookie, length, operation,
        [&work](ibv_qp* queue_pair, std::uint64_t id) {
            work.wr_id = id;
            return verbs::post_send(queue_pair, work);
        },
        request.use);
    if (code == DAT_SUCCESS) ep.counters.posted(request.operation, length);
    return code;
}

[[gnu::always_inline]] inline DAT_RETURN submit(Ep& ep, const Request& request,
                                                DAT_SEG_LENGTH length) REQUIRES(ep.requests.lock) {
    ibv_send_wr work;
    write_work_request(work, ep, request, length);
    return submit(ep, request, length, work);
}

/// Fast path of nearly all requests. @param code out: the device's answer; DAT_SUCCESS if nothing
/// was done, because another thread holds the lock or the request needs further checks.
/// @return whether the request is posted. Must not take the address of `request`, so that the
/// members that are constants in the caller stay constants here.
[[gnu::always_inline]] inline bool post_plain(Ep& ep, const Request& request, bool check_state,
                                              DAT_RETURN& code) {
    code = DAT_SUCCESS;
    if (!ep.requests.lock.try_lock()) [[unlikely]]
        return false;
    support::SpinLockGuard lock(ep.requests.lock, support::SpinLockGuard::kTaken);
    if (request.followed_by != FollowedBy::kNothing ||
        (check_state && !ep.state.takes_requests()) ||
        (!is_send(request.operation) && !request.remote) ||
        !is_plain(ep.requests, request.segments, request.local)) [[unlikely]]
        return false;
    code = submit(ep, request, request.local->segment_length);
    return code == DAT_SUCCESS;
}

[[gnu::always_inline]] inline DAT_RETURN submit_receive(Ep& ep, const Request& receive,
                                                        DAT_SEG_LENGTH length)
    REQUIRES(ep.receives.lock) {
    ibv_recv_wr work;
    work.next = nullptr;
    work.sg_list = as_scatter_list(receive.local);
    work.num_sge = receive.segments;
    const DAT_RETURN code = with_room(
        ep.receives, receive.cookie, length, receive.operation,
        [&work](ibv_qp* queue_pair, std::uint64_t id) {
            work.wr_id = id;
            return post_receive(work, [queue_pair](ibv_recv_wr& posted) {
                ibv_recv_wr* refused;
                return ibv_post_recv(queue_pair, &posted, &refused);
            });
        },
        receive.use);
    if (code == DAT_SUCCESS) ep.counters.posted(DAT_DTO_RECEIVE, length);
    return code;
}

/// Does for receives what post_plain() does. An EP with an SRQ never has a free slot.
[[gnu::always_inline]] inline bool post_plain_receive(Ep& ep, const Request& receive,
                                                      DAT_RETURN& code) {
    code = DAT_SUCCESS;
    if (!ep.receives.lock.try_lock()) [[unlikely]]
        return false;
    support::SpinLockGuard lock(ep.receives.lock, support::SpinLockGuard::kTaken);
    if (!is_plain(ep.receives, receive.segments, receive.local)) [[unlikely]]
        return false;
    code = submit_receive(ep, receive, receive.local->segment_length);
    return code == DAT_SUCCESS;
}

}  // namespace dapl
