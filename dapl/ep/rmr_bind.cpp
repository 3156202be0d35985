// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_rmr_bind, and dat_ep_post_rdma_read_to_rmr. Binds are checked here, since a bind that the
/// device refuses breaks the connection.
#include "dapl/ep/rmr_bind.hpp"

#include "dapl/adapter/ia.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/post.hpp"
#include "dapl/ep/post_limit.hpp"
#include "dapl/ep/with_slot.hpp"
#include "dapl/memory/lmr.hpp"
#include "dapl/memory/rmr.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/transfer/work_request.hpp"
#include "dapl/verbs/post.hpp"

#include <dat2/dat_ib_extensions.h>

namespace dapl {
namespace {

unsigned access_flags(const BindRequest& request) {
    const unsigned privileges = request.privileges;
    unsigned access = 0;
    if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG) access |= IBV_ACCESS_REMOTE_READ;
    if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) access |= IBV_ACCESS_REMOTE_WRITE;
    const unsigned of_region = request.lmr ? request.lmr->parameters.mem_priv : 0;
    if (request.rmr.ia.has_atomics() && grants_atomics(privileges, of_region))
        access |= IBV_ACCESS_REMOTE_ATOMIC;
    if (request.va_type == DAT_VA_TYPE_ZB) access |= IBV_ACCESS_ZERO_BASED;
    return access;
}

/// Leaves out IBV_SEND_SOLICITED: a bind sends nothing.
unsigned bind_flags(const BindRequest& request) {
    return send_flags(request.flags) & ~IBV_SEND_SOLICITED;
}

/// Checks range, PZ and privileges: an LMR that the device may only read does not become writable
/// through a window.
DAT_RETURN check_region(const BindRequest& request) {
    const DAT_LMR_PARAM& region = request.lmr->parameters;
    if (!is_part_of(region, request.triplet)) return bad_argument(2);
    if (&request.lmr->pz != &request.rmr.pz) return bad_argument(4);
    constexpr unsigned kChanges = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    const bool writable = (region.mem_priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) != 0;
    if ((access_flags(request) & kChanges) != 0 && !writable)
        return error(DAT_PRIVILEGES_VIOLATION);
    return DAT_SUCCESS;
}

/// @param before the binding that an unbind ends. An unbind names the region too, because
/// rdma_rxe's library reads it whatever the length.
ibv_mw_bind_info bind_info(const BindRequest& request, const RmrBinding& before) {
    if (!request.lmr) return {before.lmr->region.get(), 0, 0, 0};
    return {request.lmr->region.get(), request.triplet.virtual_address,
            request.triplet.segment_length, access_flags(request)};
}

RmrBinding binding_of(const BindRequest& request, DAT_RMR_CONTEXT context) {
    RmrBinding binding;
    binding.context = context;
    if (!request.lmr) return binding;
    binding.lmr = request.lmr;
    binding.triplet = request.triplet;
    binding.privileges = request.privileges;
    binding.va_type = request.va_type;
    if (!request.rmr.is_for_ep()) return binding;
    binding.ep_base = &request.ep.binding_base;
    binding.binding_base = request.ep.binding_base.load(std::memory_order_relaxed);
    return binding;
}

/// Posts with a slot that names the RMR.
/// @param context kept in the slot, so that take_completion() finds the binding. @param post as for
/// with_slot(). @param flags DAT_COMPLETION_FLAGS.
template <class Post>
DAT_RETURN with_bind_slot(const BindRequest& request, DAT_RMR_CONTEXT context, unsigned flags,
                          TransferUse* use, const Post& post) REQUIRES(request.ep.requests.lock) {
    const std::uint32_t rmr = request.rmr.header().index << Slot::kRmrShift;
    const std::uint32_t operation = DAT_DTO_BIND_MW | rmr | Slot::suppression(flags);
    return with_slot(request.ep.requests, request.cookie, context, operation, post, use);
}

/// Posts for a type 1 window: one request binds, rebinds or unbinds.
DAT_RETURN post_plain(const BindRequest& request, const RmrBinding& before, DAT_RMR_CONTEXT context)
    REQUIRES(request.ep.requests.lock) {
    ibv_mw_bind bind{};
    bind.send_flags = bind_flags(request);
    bind.bind_info = bind_info(request, before);
    return with_bind_slot(request, context, request.flags, request.use,
                          [&](ibv_qp* queue_pair, std::uint64_t id) {
                              bind.wr_id = id;
                              return ibv_bind_mw(queue_pair, request.rmr.window.get(), &bind);
                          });
}

ibv_send_wr invalidation(DAT_RMR_CONTEXT context, unsigned flags) {
    ibv_send_wr work{};
    work.opcode = IBV_WR_LOCAL_INV;
    work.send_flags = flags;
    work.invalidate_rkey = context;
    return work;
}

/// Posts the invalidation that unbinds a type 2 window. A window of any type that is not bound gets
/// a zero-length RDMA write instead, so that the completion still comes in posting order.
DAT_RETURN post_unbind(const BindRequest& request, const RmrBinding& before)
    REQUIRES(request.ep.requests.lock) {
    ibv_send_wr work = invalidation(before.context, bind_flags(request));
    if (!before.lmr) work.opcode = IBV_WR_RDMA_WRITE;
    const DAT_RMR_CONTEXT context = before.lmr ? before.context : request.rmr.window->rkey;
    return with_bind_slot(request, context, request.flags, request.use,
                          [&](ibv_qp* queue_pair, std::uint64_t id) {
                              work.wr_id = id;
                              return verbs::post_send(queue_pair, work);
                          });
}

DAT_RETURN post_for_window(const BindRequest& request, DAT_RMR_CONTEXT context)
    REQUIRES(request.ep.requests.lock) {
    ibv_send_wr work{};
    work.opcode = IBV_WR_BIND_MW;
    work.send_flags = bind_flags(request);
    work.bind_mw.mw = request.rmr.window.get();
    work.bind_mw.rkey = context;
    work.bind_mw.bind_info = bind_info(request, {});
    return with_bind_slot(request, context, request.flags, request.use,
                          [&](ibv_qp* queue_pair, std::uint64_t id) {
                              work.wr_id = id;
                              return verbs::post_send(queue_pair, work);
                          });
}

/// Posts the invalidation that a bound type 2 window needs before it is bound again. It is a
/// further request with its own slot, and makes no event.
DAT_RETURN post_invalidation(const BindRequest& request, const RmrBinding& before)
    REQUIRES(request.ep.requests.lock) {
    const SlotRing& slots = request.ep.requests.slots;
    if (slots.posted() + 2 > slots.limit()) return kOutOfMemory;
    ibv_send_wr work = invalidation(before.context, bind_flags(request) & IBV_SEND_FENCE);
    return with_bind_slot(request, before.context, DAT_COMPLETION_SUPPRESS_FLAG, nullptr,
                          [&](ibv_qp* queue_pair, std::uint64_t id) {
                              work.wr_id =
                                  WorkRequestId::first_half(id, WorkRequestId::kInvalidation);
                              return verbs::post_send(queue_pair, work);
                          });
}

DAT_RETURN post_for_ep(const BindRequest& request, RmrBinding before, DAT_RMR_CONTEXT context)
    REQUIRES(request.ep.requests.lock) {
    Rmr& rmr = request.rmr;
    RmrTable& table = *rmr.ia.rmr_table;
    // Only the EP through which it is bound can invalidate it.
    if (before.lmr && before.ep_base != &request.ep.binding_base) return error(DAT_INVALID_STATE);
    DAT_RETURN code = DAT_SUCCESS;
    if (!request.lmr) {
        table.replace(rmr, {});
        code = post_unbind(request, before);
    } else {
        if (before.lmr) code = post_invalidation(request, before);
        if (code != DAT_SUCCESS) return code;
        before = {};
        table.replace(rmr, binding_of(request, context));
        code = post_for_window(request, context);
        if (code == DAT_SUCCESS) rmr.window->rkey = context;
    }
    if (code != DAT_SUCCESS) table.replace(rmr, before);
    return code;
}

DAT_RETURN post_for_zone(const BindRequest& request, const RmrBinding& before,
                         DAT_RMR_CONTEXT context) REQUIRES(request.ep.requests.lock) {
    RmrTable& table = *request.rmr.ia.rmr_table;
    table.replace(request.rmr, binding_of(request, context));
    const bool has_nothing_to_end = !request.lmr && !before.lmr;
    const DAT_RETURN code =
        has_nothing_to_end ? post_unbind(request, before) : post_plain(request, before, context);
    if (code != DAT_SUCCESS) table.replace(request.rmr, before);
    return code;
}

/// Posts a bind or unbind. The binding is recorded before the post, because the completion may be
/// consumed before the post returns.
DAT_RETURN post(const BindRequest& request, DAT_RMR_CONTEXT* told) {
    Rmr& rmr = request.rmr;
    support::SpinLockGuard posting(rmr.posting);
    support::SpinLockGuard lock(request.ep.requests.lock);
    const ibv_qp* queue_pair = request.ep.requests.queue_pair;
    if (!queue_pair) return kNoQueuePair;
    // The connection has ended since the state was checked.
    if (request.ep.requests.slots.stopped()) return state_error(request.ep.state.get());
    if (queue_pair->pd != rmr.pz.domain.get()) return bad_argument(request.lmr ? 4 : 2);
    if (request.ep.requests.slots.limit() == 0) return raw(DAT_INTERNAL_ERROR);
    const RmrBinding before = rmr.ia.rmr_table->binding_of(rmr);
    const DAT_RMR_CONTEXT context = ibv_inc_rkey(rmr.window->rkey);
    const DAT_RETURN code = rmr.is_for_ep() ? post_for_ep(request, before, context)
                                            : post_for_zone(request, before, context);
    if (code == DAT_SUCCESS && told) *told = rmr.window->rkey;
    return code;
}

/// Returns whether the EP allows the flags: a bind may be suppressed or unsignalled only if the
/// EP's request_completion_flags have the same flag.
bool may_have_flags(const Ep& ep, DAT_COMPLETION_FLAGS flags) {
    constexpr unsigned kOfEp = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG;
    return (flags & kOfEp & ~ep.request_flags.load(std::memory_order_relaxed)) == 0;
}

}  // namespace

DAT_RETURN check_bind(const BindRequest& request) {
    const DAT_EP_STATE state = request.ep.state.get();
    if (!is_legal(EpCall::kBind, state)) return state_error(state);
    return request.lmr ? check_region(request) : kSuccess;
}

DAT_RETURN post_bind(const BindRequest& request, DAT_RMR_CONTEXT* context) {
    const DAT_RETURN code = post(request, context);
    report_refused_post(request.ep, DAT_DTO_BIND_MW, 0, nullptr, code);
    return code;
}

DAT_RETURN bind_rmr(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
                    const DAT_LMR_TRIPLET* triplet, DAT_MEM_PRIV_FLAGS privileges,
                    DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
                    DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT* context, TransferUse* use) {
    Rmr* rmr = from_handle<Rmr>(rmr_handle);
    if (!rmr) return bad_handle(DAT_INVALID_HANDLE_RMR);
    Ep* ep = from_handle<Ep>(ep_handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (!triplet) return bad_argument(3);
    const bool unbinds = triplet->segment_length == 0;
    Lmr* lmr = unbinds ? nullptr : from_handle<Lmr>(lmr_handle);
    if (!unbinds && !lmr) return bad_handle(DAT_INVALID_HANDLE_LMR);
    const BindRequest request{*rmr, *ep, lmr, *triplet, privileges, va_type, cookie, flags, use};
    const DAT_RETURN refused = check_bind(request);
    if (refused != DAT_SUCCESS) return refused;
    if (!may_have_flags(*ep, flags)) return bad_argument(4);
    return post_bind(request, context);
}

namespace entry {

DAT_RETURN rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET* triplet,
                    DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
                    DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT* context) {
    return bind_rmr(rmr, lmr, triplet, privileges, va_type, ep, cookie, flags, context, nullptr);
}

/// A memory window has no lkey, so the local segment gets the lkey of the LMR behind it. A context
/// that is not an RMR's is taken as an LMR's: on InfiniBand devices an LMR's two contexts are the
/// same number, and other devices check it themselves.
DAT_RETURN ep_post_rdma_read_to_rmr(DAT_EP_HANDLE handle, const DAT_RMR_TRIPLET* local,
                                    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET* remote,
                                    DAT_COMPLETION_FLAGS flags) {
    Ep* ep = from_handle<Ep>(handle);
    if (!ep) return bad_handle(DAT_INVALID_HANDLE_EP);
    if (ep->ia.max_rmrs() == 0) return raw(DAT_MODEL_NOT_SUPPORTED);
    if (!local) return bad_argument(2);
    if (!remote) return bad_argument(4);
    DAT_LMR_TRIPLET segment{};
    segment.virtual_address = local->virtual_address;
    segment.segment_length = local->segment_length;
    segment.lmr_context = local->rmr_context;
    const DAT_RETURN refused = name_locally(ep->ia, segment);
    if (refused != DAT_SUCCESS) return refused;
    return post_request(*ep, {DAT_DTO_RDMA_READ, 1, &segment, cookie, remote, flags}, true);
}

}  // namespace entry
}  // namespace dapl
