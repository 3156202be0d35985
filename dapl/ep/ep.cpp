// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The queue pair of an endpoint: creation, replacement, flush and end.
#include "dapl/ep/ep.hpp"

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/ep/delayed_ack.hpp"
#include "dapl/ep/ep_numbers.hpp"
#include "dapl/ep/srq.hpp"
#include "dapl/transfer/work_request.hpp"
#include "dapl/verbs/post.hpp"

namespace dapl {
namespace {

/// Sends and writes up to this size are posted inline where the device can.
constexpr std::uint32_t kInlineBytes = 64;

ibv_qp_init_attr initial_attributes(Ep& ep, const EpParts& parts, const DAT_EP_ATTR& wanted) {
    const int device_segments = ep.ia.device_attributes.max_sge;
    ibv_qp_init_attr attributes{};
    attributes.qp_context = &ep;
    attributes.qp_type = ep.ud ? IBV_QPT_UD : IBV_QPT_RC;
    attributes.send_cq =
        parts.request_evd ? parts.request_evd->completion_queue() : ep.ia.unused_queue();
    attributes.recv_cq = parts.recv_evd ? parts.recv_evd->completion_queue() : ep.ia.unused_queue();
    attributes.srq = ep.shared ? ep.shared->srq.queue() : nullptr;
    // One more than the consumer can post, for the marker of a graceful disconnect.
    attributes.cap.max_send_wr =
        std::min(std::max(slots_of_requests(wanted, delayed_ack(wanted)), 1) + 1,
                 ep.ia.device_attributes.max_qp_wr);
    attributes.cap.max_recv_wr = std::max(wanted.max_recv_dtos, 1);
    attributes.cap.max_send_sge = std::min(
        std::max({wanted.max_request_iov, wanted.max_rdma_read_iov, wanted.max_rdma_write_iov, 1}),
        device_segments);
    attributes.cap.max_recv_sge = std::max(wanted.max_recv_iov, 1);
    attributes.cap.max_inline_data = kInlineBytes;
    return attributes;
}

/// Creates a queue pair; after EINVAL tries again without inline data.
/// @return empty, with errno, if the device refuses.
verbs::QueuePair create(ibv_pd* domain, ibv_qp_init_attr& attributes) {
    const ibv_qp_init_attr asked = attributes;
    verbs::QueuePair made(ibv_create_qp(domain, &attributes));
    if (made || errno != EINVAL) return made;
    attributes = asked;
    attributes.cap.max_inline_data = 0;
    made.reset(ibv_create_qp(domain, &attributes));
    return made;
}

/// @return errno.
int initialise(const Ep& ep, ibv_qp* queue_pair) {
    const Ia& ia = ep.ia;
    if (ep.ud) return start_datagrams(ep.ud->service, ia.adapter().port, queue_pair);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = ia.adapter().port;
    attributes.qp_access_flags =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (ia.has_atomics()) attributes.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
    if (ia.is_infiniband()) mask |= IBV_QP_PKEY_INDEX;
    return ibv_modify_qp(queue_pair, &attributes, mask);
}

}  // namespace

Ep::Ep(Ia& owner, Srq* srq, DAT_SERVICE_TYPE service)
    : ia(owner),
      shared(srq ? std::make_unique<SharedReceives>(*this, *srq) : nullptr),
      ud(service == kDatagramService
             ? std::make_unique<UdEndpoint>(*this, *owner.manager->datagrams())
             : nullptr),
      parts{},
      attributes{} {
    state.endpoint = id();
}

void Ep::set_parts(const EpParts& made_of) {
    const auto count = [](const EpParts& counted, int change) {
        if (counted.pz) counted.pz->users += change;
        for (Evd* evd : {counted.recv_evd, counted.request_evd, counted.connect_evd})
            if (evd) evd->users += change;
    };
    count(made_of, 1);
    count(parts, -1);
    parts = made_of;
}

DAT_RETURN Ep::check(EpCall call) const {
    if (!is_legal(call, state.get())) return state_error(state.get());
    // Peers are being told the number of its queue pair.
    if (ud && call != EpCall::kReset && ud->is_exchanging())
        return state_error(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    return DAT_SUCCESS;
}

void Ep::change(const EpParts& made_of, const DAT_EP_ATTR& wanted) {
    if (ud && made_of.pz != parts.pz) ud->free_addresses();
    set_parts(made_of);
    attributes = wanted;
    request_flags = wanted.request_completion_flags;
    invalidation_failed = false;
    first_half_status = IBV_WC_SUCCESS;
    state.move(is_complete() ? EpCause::kCompleted : EpCause::kMadeIncomplete);
}

support::Result<void> Ep::renew(const EpParts& made_of, const DAT_EP_ATTR& wanted, EpCall call) {
    ibv_qp_init_attr device{};
    if (!end_old()) return support::failure(raw(DAT_INVALID_STATE));
    verbs::QueuePair exchanged;  // the new one, then the old one; destroyed without the lock
    Sides sides;                 // likewise
    if (made_of.pz) {
        sides = storage_for(wanted);
        if (delayed_ack(wanted) == DelayedAck::kReadBack) {
            const auto sink = made_of.pz->read_sink();
            if (!sink) return tl::unexpected(sink.error());
            sides.read_back = (*sink)->byte();
        }
        device = initial_attributes(*this, made_of, wanted);
        exchanged = create(made_of.pz->domain.get(), device);
        if (!exchanged) return refused_by_device(ia, errno, "a queue pair");
        if (const int failed = initialise(*this, exchanged.get()))
            return refused_by_device(ia, failed, "a queue pair's first state");
    }
    {
        support::MutexLock lock(connection_lock);
        if (const DAT_RETURN illegal = check(call); illegal != DAT_SUCCESS)
            return support::failure(illegal);
        if (shared && exchanged) ia.ep_numbers->add(exchanged->qp_num, *this);
        // With an SRQ nothing is posted before the first connection, and what the last connection
        // left was flushed when it ended.
        if (!shared) flush_queue_pair();
        retire_sides();
        exchanged.swap(queue_pair_);
        change(made_of, wanted);
        // Moves before posts can see the new queue pair, which accepts no requests yet.
        if (call == EpCall::kReset) state.move(EpCause::kReset);
        if (queue_pair_) install_sides(device.cap, sides);
        if (ud) ud->renewed();
    }
    if (!dispose(std::move(exchanged))) return support::failure(raw(DAT_INVALID_STATE));
    return {};
}

Ep::Storage Ep::storage(std::uint32_t limit) const {
    Storage made;
    made.limit = limit;
    made.slots = SlotRing::storage(limit, ia.decoration != nullptr);
    return made;
}

Ep::Sides Ep::storage_for(const DAT_EP_ATTR& wanted) const {
    Sides made;
    made.requests = storage(slots_of_requests(wanted, delayed_ack(wanted)));
    made.receives = storage(shared ? 0 : wanted.max_recv_dtos);
    return made;
}

void Ep::install_sides(const ibv_qp_cap& made, Sides& sides) {
    install(requests, parts.request_evd, sides.requests, made.max_send_sge, false);
    install(receives, parts.recv_evd, sides.receives, made.max_recv_sge, true);
    if (delayed_ack(attributes) != DelayedAck::kFalse) {
        support::SpinLockGuard lock(requests.lock);
        requests.confirms = true;
        requests.read_back = sides.read_back;
        requests.max_message = 0;
    }
    binding_base = requests.work_request_base.load(std::memory_order_relaxed);
    if (ud && shared) shared->begin(queue_pair_.get());
    device_inline_ = made.max_inline_data;
    limit_inline();
}

void limit_inline(Ia& ia) {
    for (Ep* ep = ia.eps.first(); ep; ep = ia.eps.after(*ep)) ep->limit_inline();
}

void Ep::limit_inline() {
    support::SpinLockGuard lock(requests.lock);
    requests.max_inline = ia.zero_based_lmrs > 0 ? 0 : device_inline_;
}

bool Ep::dispose(verbs::QueuePair old) {
    if (!old) return true;
    const std::uint32_t number = old->qp_num;
    const bool has_ended = verbs::end(old);
    if (has_ended && !shared) return true;
    support::MutexLock lock(connection_lock);
    if (!has_ended) {
        old_queue_pair_ = std::move(old);
        return false;
    }
    // Slots of the SRQ come back through completions only, so every completion is consumed here.
    if (parts.recv_evd) parts.recv_evd->retire(receives);
    ia.ep_numbers->remove(number, *this);
    return true;
}

bool Ep::end_old() {
    verbs::QueuePair old;
    {
        support::MutexLock lock(connection_lock);
        old.swap(old_queue_pair_);
    }
    return dispose(std::move(old));
}

bool Ep::keeps_queue_pair(const EpParts& made_of, const DAT_EP_ATTR& wanted) const {
    const auto size = [](const DAT_EP_ATTR& of) {
        return std::tie(of.max_recv_dtos, of.max_request_dtos, of.max_recv_iov, of.max_request_iov,
                        of.max_rdma_read_iov, of.max_rdma_write_iov);
    };
    const auto device_parts = [](const EpParts& of) {
        return std::tie(of.pz, of.recv_evd, of.request_evd);
    };
    return device_parts(made_of) == device_parts(parts) && size(wanted) == size(attributes) &&
           delayed_ack(wanted) == delayed_ack(attributes);
}

support::Result<void> Ep::modify(const EpParts& made_of, const DAT_EP_ATTR& wanted, EpCall call) {
    {
        support::MutexLock lock(connection_lock);
        if (const DAT_RETURN illegal = check(call); illegal != DAT_SUCCESS)
            return support::failure(illegal);
        if (keeps_queue_pair(made_of, wanted)) {
            change(made_of, wanted);
            return {};
        }
    }
    return renew(made_of, wanted, call);
}

std::uint32_t Ep::max_message(bool is_receive) const {
    if (!ud) return ia.port_attributes.max_msg_sz;
    return is_receive ? 0 : ia.datagram_size();
}

void Ep::install(Side& side, Evd* evd, Storage& storage, int segments, bool is_receive) {
    const std::uint32_t largest = max_message(is_receive);
    // Counted in the pool's slot, so that no earlier EP in that slot had the same incarnation.
    const std::uint32_t incarnation = ++header().generation & WorkRequestId::kIncarnationMask;
    support::SpinLockGuard lock(side.lock);
    const std::uint64_t base = WorkRequestId::base(header().index, incarnation, is_receive);
    side.slots.reset(storage.limit, base, storage.slots);
    side.max_segments = segments;
    side.max_message = largest;
    side.confirms = false;
    side.read_back = {};
    side.work_request_base.store(base, std::memory_order_release);
    side.evd = evd;
    side.flushed = false;
    side.queue_pair = queue_pair_.get();
}

int Ep::post_marker() {
    if (ud) return EINVAL;  // the marker could only be a message to a peer
    requests.finished.store(false, std::memory_order_relaxed);
    support::SpinLockGuard lock(requests.lock);
    ibv_send_wr marker{};
    marker.wr_id =
        requests.work_request_base.load(std::memory_order_relaxed) | WorkRequestId::kSpecial;
    marker.opcode = IBV_WR_RDMA_WRITE;
    marker.send_flags = IBV_SEND_SIGNALED;
    return verbs::post_send(requests.queue_pair, marker);
}

void Ep::flush_queue_pair() {
    if (!queue_pair_ || requests.is_stopped()) return;
    requests.stop();
    receives.stop();
    // A last request with a suppressed completion makes none if it succeeds; the marker always
    // makes one. Some devices accept no requests in the error state, so it is posted first.
    const bool is_marked = requests.posted() > 0 && post_marker() == 0;
    ibv_qp_attr error_state{};
    error_state.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(queue_pair_.get(), &error_state, IBV_QP_STATE);
    if (shared)
        shared->await_last(queue_pair_.get());
    else
        flush(receives, parts.recv_evd);
    if (requests.posted() > 0 && !is_marked) post_marker();
    flush(requests, parts.request_evd);
}

void Ep::flush(Side& side, Evd* evd) {
    if (evd) evd->await_flush(side);
    {
        support::SpinLockGuard lock(side.lock);
        if (evd) evd->end_flush(side);
        side.flushed = true;
    }
    if (evd) evd->tell_flushed();
}

void Ep::retire(Side& side, Evd* evd) {
    {
        support::SpinLockGuard lock(side.lock);
        side.queue_pair = nullptr;
        side.evd = nullptr;
        side.slots.close();
    }
    if (evd)
        evd->retire(side);
    else
        side.work_request_base.store(Side::kNoWorkRequests, std::memory_order_release);
    if (Decoration* decoration = ia.decoration)
        side.slots.take_uses([decoration](TransferUse left) { decoration->end_use(left); });
}

void Ep::retire_sides() {
    if (!queue_pair_) return;
    binding_base = Side::kNoWorkRequests;
    retire(requests, parts.request_evd);
    retire(receives, parts.recv_evd);
}

bool Ep::end_queue_pair() {
    if (!end_old()) return false;
    verbs::QueuePair ended;
    {
        support::MutexLock lock(connection_lock);
        retire_sides();
        ended.swap(queue_pair_);
    }
    return dispose(std::move(ended));
}

void break_connection(const FailedTransfer& failed) {
    support::MutexLock lock(connection_lock);
    Ep* ep = from_handle<Ep>(failed.ep);
    if (ep) transfer_failed(*ep, {EpReason::Source::kCompletion, failed.status, failed.operation});
}

}  // namespace dapl
