// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/shared_receive_queue.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "providers/soft/verbs/fault_points.hpp"
#include "providers/soft/verbs/query.hpp"
#include "providers/soft/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

std::uint64_t free_at(std::uint32_t position) {
    return std::uint64_t{position} << 32;
}

}  // namespace

bool crosses_srq_limit(SrqHeader& header, std::uint32_t left) {
    std::uint32_t limit = header.limit.load(std::memory_order_acquire);
    return limit != 0 && left < limit &&
           header.limit.compare_exchange_strong(limit, 0, std::memory_order_acq_rel);
}

ReceiveSlot* take_shared_receive(const ReceiveRing& ring, std::uint32_t qp_num,
                                 std::uint32_t& index, bool& limit_reached) {
    constexpr int kMaxAttempts = 1 << 20;  // a peer's nonsense must not hold us for ever
    SrqHeader& header = *ring.shared;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
        std::uint32_t head = header.head.load(std::memory_order_acquire);
        const std::uint32_t posted = header.posted.load(std::memory_order_seq_cst);
        if (head == posted) return nullptr;
        // After `posted`: an order that was replaced does not have what was posted since.
        const RingPlace place = RingPlace::decode(header.order.load(std::memory_order_seq_cst));
        const auto* order = ring.arena.array<std::atomic<std::uint32_t>>(
            place.offset, std::uint64_t{place.size()} * sizeof(std::uint32_t));
        if (!order) return nullptr;
        index = order[head & (place.size() - 1)].load(std::memory_order_acquire);
        ReceiveSlot* slot = ring.slot(index);
        if (!slot) return nullptr;
        std::uint64_t expected = free_at(head);
        const bool mine = slot->taker.compare_exchange_strong(expected, free_at(head) | qp_num,
                                                              std::memory_order_acq_rel);
        if (mine) fault_point(FaultPoint::kSharedReceiveTaken);
        // Taken by somebody else at this position, or our view of the head is old: both ways the
        // head, if it still is there, may move on.
        header.head.compare_exchange_strong(head, head + 1, std::memory_order_acq_rel);
        if (!mine) continue;
        fault_point(FaultPoint::kSharedHeadMoved);
        limit_reached = crosses_srq_limit(header, posted - head - 1);
        if (limit_reached) fault_point(FaultPoint::kSharedLimitDisarmed);
        return slot;
    }
    return nullptr;
}

SharedReceiveQueue* SharedReceiveQueue::create(ProtectionDomain& pd,
                                               ibv_srq_init_attr& attributes) {
    ibv_srq_attr& asked = attributes.attr;
    if (asked.max_wr > kMaxWorkRequests || asked.max_sge > kMaxSge) {
        errno = EINVAL;
        return nullptr;
    }
    auto srq = std::make_unique<SharedReceiveQueue>();
    static_cast<ibv_srq&>(*srq) = ibv_srq{};
    srq->context = pd.context;
    srq->srq_context = attributes.srq_context;
    srq->pd = &pd;
    const std::uint32_t depth = std::bit_ceil(std::max(asked.max_wr, 1u));
    if (const int cause = srq->allocate(depth, std::max(asked.max_sge, 1u))) {
        errno = cause;
        return nullptr;
    }
    srq->handle = srq->index_;
    asked.max_wr = depth;
    asked.max_sge = srq->ring_.max_sge;
    pthread_mutex_init(&srq->mutex, nullptr);
    pthread_cond_init(&srq->cond, nullptr);
    ++pd.users;
    return srq.release();
}

int SharedReceiveQueue::allocate(std::uint32_t depth, std::uint32_t max_sge) {
    Adapter& adapter = this->adapter();
    {
        support::MutexLock lock(adapter.mutex);
        const Result<std::uint32_t> index = adapter.add(this);
        if (!index) return index.error();
        index_ = *index;
    }
    SrqHeader& header = *adapter.view().srq(index_);
    header.pd = ProtectionDomain::of(pd).number();
    header.first_size = depth;
    header.slot_stride = slot_stride(max_sge);
    header.max_sge = max_sge;
    header.order = 0;
    for (std::atomic<std::uint64_t>& section : header.sections) section = 0;
    header.posted = 0;
    header.head = 0;
    header.limit = 0;
    header.waiting = 0;
    ring_.size = depth;
    ring_.max_sge = max_sge;
    ring_.stride = header.slot_stride;
    ring_.shared = &header;
    ring_.arena = adapter.view();
    ring_.sections = sections_;
    int cause = 0;
    {
        support::MutexLock lock(resize_mutex_);
        cause = resize(depth);
    }
    if (cause == 0) {
        header.live.store(1, std::memory_order_release);
        return 0;
    }
    support::MutexLock lock(adapter.mutex);
    adapter.remove(this, index_);
    release_memory();
    return cause;
}

int SharedReceiveQueue::destroy(SharedReceiveQueue* srq) {
    Adapter& adapter = srq->adapter();
    {
        support::SpinLockGuard guard(srq->lock_);
        if (!srq->attached_.empty()) return EBUSY;
    }
    {
        support::MutexLock lock(adapter.mutex);
        srq->ring_.shared->live.store(0, std::memory_order_release);
        adapter.remove(srq, srq->index_);
    }
    Context::of(srq->context).events.retire(srq);
    srq->release_memory();
    --ProtectionDomain::of(srq->pd).users;
    pthread_mutex_destroy(&srq->mutex);
    pthread_cond_destroy(&srq->cond);
    delete srq;
    return 0;
}

SharedReceiveQueue::SlotRecord& SharedReceiveQueue::record(std::uint32_t slot) const {
    const SectionPlace place = SectionPlace::of(slot, ring_.size);
    return records_[place.section][place.index];
}

const std::uint64_t* SharedReceiveQueue::posted_id(std::uint32_t slot) const {
    if (slot >= num_slots_.load(std::memory_order_acquire)) return nullptr;
    const SlotRecord& found = record(slot);
    return found.is_posted.load(std::memory_order_acquire) ? &found.wr_id : nullptr;
}

bool SharedReceiveQueue::post_one(const ibv_recv_wr& wr) {
    const std::uint32_t outstanding = num_slots_ - static_cast<std::uint32_t>(free_.size());
    if (outstanding >= max_wr_) return false;
    const std::uint32_t slot_index = free_.back();
    free_.pop_back();
    SlotRecord& mine = record(slot_index);
    mine.wr_id = wr.wr_id;
    mine.is_posted.store(true, std::memory_order_release);
    ReceiveSlot& slot = *ring_.slot(slot_index);
    slot.num_sge = static_cast<std::uint32_t>(wr.num_sge);
    if (wr.num_sge != 0)
        std::memcpy(slot_segments(&slot), wr.sg_list, wr.num_sge * sizeof(Segment));
    slot.taker.store(free_at(posted_), std::memory_order_release);
    fault_point(FaultPoint::kReceiveWritten);
    order_[posted_ & (order_place_.size() - 1)].store(slot_index, std::memory_order_release);
    fault_point(FaultPoint::kSharedSlotOrdered);
    ++posted_;
    ring_.shared->posted.store(posted_, std::memory_order_seq_cst);
    fault_point(FaultPoint::kReceivePosted);
    return true;
}

int SharedReceiveQueue::post(ibv_recv_wr* wr, ibv_recv_wr** bad) {
    int cause = 0;
    {
        support::SpinLockGuard guard(lock_);
        for (; wr && cause == 0; wr = cause ? wr : wr->next) {
            if (wr->num_sge < 0 || static_cast<std::uint32_t>(wr->num_sge) > ring_.max_sge)
                cause = EINVAL;
            else if (!post_one(*wr))
                cause = ENOMEM;
        }
    }
    if (cause != 0 && bad) *bad = wr;
    if (ring_.shared->waiting.load(std::memory_order_seq_cst) != 0 &&
        ring_.shared->waiting.exchange(0, std::memory_order_seq_cst) != 0) {
        wake_requesters();
    }
    return cause;
}

void SharedReceiveQueue::wake_requesters() {
    support::SpinLockGuard guard(lock_);
    for (QueuePair* qp : attached_) qp->wake_requester();
}

void SharedReceiveQueue::query(ibv_srq_attr& attributes) {
    support::SpinLockGuard guard(lock_);
    attributes.max_wr = max_wr_;
    attributes.max_sge = ring_.max_sge;
    attributes.srq_limit = ring_.shared->limit.load(std::memory_order_relaxed);
}

void SharedReceiveQueue::free_slot(std::uint32_t slot) {
    support::SpinLockGuard guard(lock_);
    if (slot >= num_slots_ || !record(slot).is_posted.exchange(false)) return;
    ring_.slot(slot)->taker.store(0, std::memory_order_release);
    free_.push_back(slot);
}

std::vector<std::uint32_t> SharedReceiveQueue::taken_for(std::uint32_t qp_num) const {
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = 0; slot < num_slots_.load(std::memory_order_acquire); ++slot) {
        const std::uint64_t taker = ring_.slot(slot)->taker.load(std::memory_order_acquire);
        if ((taker & 0xffffff) == qp_num) slots.push_back(slot);
    }
    return slots;
}

void SharedReceiveQueue::attach(QueuePair* qp) {
    support::SpinLockGuard guard(lock_);
    attached_.insert(qp);
}

void SharedReceiveQueue::detach(QueuePair* qp) {
    support::SpinLockGuard guard(lock_);
    attached_.erase(qp);
}

void SharedReceiveQueue::serve_kick() {
    if (ring_.shared->limit.load() != 0 || !limit_armed_.exchange(false)) return;
    ibv_async_event event{};
    event.element.srq = this;
    event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
    Context::of(context).events.push(event);
}

}  // namespace softverbs

extern "C" {

using softverbs::SharedReceiveQueue;

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
    const softverbs::CancellationDisabled guard;
    try {
        return SharedReceiveQueue::create(softverbs::ProtectionDomain::of(pd), *attributes);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
    const softverbs::CancellationDisabled guard;
    try {
        return SharedReceiveQueue::of(srq).modify(*attributes, mask);
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
    SharedReceiveQueue::of(srq).query(*attributes);
    return 0;
}

int ibv_destroy_srq(ibv_srq* srq) {
    const softverbs::CancellationDisabled guard;
    return SharedReceiveQueue::destroy(&SharedReceiveQueue::of(srq));
}

}  // extern "C"
