// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/ended_objects.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/take_shared_receive.hpp"
#include "support/base/made_node.hpp"

namespace softverbs {
bool crosses_srq_limit(SrqHeader& header, std::uint32_t left) {
    std::uint32_t limit = header.limit.load(std::memory_order_acquire);
    return limit != 0 && left < limit &&
           header.limit.compare_exchange_strong(limit, 0, std::memory_order_acq_rel);
}

ReceiveSlot* take_shared_receive(const ReceiveRing& ring, std::uint32_t qp_num,
                                 std::uint32_t& index, bool& limit_reached) {
    return take_shared_receive(ring, qp_num, index, limit_reached,
                               [](const ReceiveSlot&) { return true; });
}

SharedReceiveQueue* SharedReceiveQueue::create(ProtectionDomain& pd, void* srq_context,
                                               ibv_srq_attr& asked, const XrcPlace& xrc) {
    if (is_refused(pd.context, faults::Subject::kCreateSrq)) return nullptr;
    if (asked.max_wr > kMaxWorkRequests || asked.max_sge > kMaxSge) {
        errno = EINVAL;
        return nullptr;
    }
    auto srq = std::make_unique<SharedReceiveQueue>();
    static_cast<ibv_srq&>(*srq) = ibv_srq{};
    srq->context = pd.context;
    srq->srq_context = srq_context;
    srq->pd = &pd;
    Queues::node_type made;
    if (xrc.xrcd) made = support::made_node<Queues>(srq.get());
    const std::uint32_t depth = std::bit_ceil(std::max(asked.max_wr, 1u));
    if (const int cause = srq->allocate(depth, std::max(asked.max_sge, 1u))) {
        errno = cause;
        return nullptr;
    }
    if (const int cause = xrc.xrcd ? srq->join(xrc, std::move(made)) : 0) {
        srq->withdraw();
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
    int cause = ENOMEM;
    try {
        support::MutexLock lock(resize_mutex_);
        cause = resize(depth);
    } catch (const std::bad_alloc&) {
        // cause is ENOMEM
    }
    if (cause == 0) {
        header.live.store(1, std::memory_order_release);
        return 0;
    }
    withdraw();
    return cause;
}

/// Undoes allocate().
void SharedReceiveQueue::withdraw() {
    Adapter& adapter = this->adapter();
    {
        support::MutexLock lock(adapter.mutex);
        ring_.shared->live.store(0, std::memory_order_release);
        adapter.remove(this, index_);
    }
    release_memory();
}

int SharedReceiveQueue::destroy(SharedReceiveQueue* srq) {
    if (srq->handle != srq->index_) return ENOENT;
    {
        support::SpinLockGuard guard(srq->lock_);
        if (!srq->attached_.empty()) return EBUSY;
    }
    if (const int cause = srq->is_xrc() ? srq->leave() : 0) return cause;
    srq->withdraw();
    Context::of(srq->context).events.retire(srq);
    --ProtectionDomain::of(srq->pd).users;
    pthread_mutex_destroy(&srq->mutex);
    pthread_cond_destroy(&srq->cond);
    end_object(srq);
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
    mine.completes.store(false, std::memory_order_relaxed);
    mine.is_posted.store(true, std::memory_order_release);
    ReceiveSlot& slot = *ring_.slot(slot_index);
    slot.num_sge = static_cast<std::uint32_t>(wr.num_sge);
    if (wr.num_sge != 0)
        std::memcpy(slot_segments(&slot), wr.sg_list, wr.num_sge * sizeof(Segment));
    offer(slot_index);
    return true;
}

/// Appends the slot to the order, behind all others.
void SharedReceiveQueue::offer(std::uint32_t slot) {
    ring_.slot(slot)->taker.store(free_at(posted_), std::memory_order_release);
    fault_point(FaultPoint::kReceiveWritten);
    order_[posted_ & (order_place_.size() - 1)].store(slot, std::memory_order_release);
    fault_point(FaultPoint::kSharedSlotOrdered);
    ++posted_;
    ring_.shared->posted.store(posted_, std::memory_order_seq_cst);
    fault_point(FaultPoint::kReceivePosted);
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
    wake_requesters();
    return cause;
}

/// Kicks the requesters that wait for a receive.
void SharedReceiveQueue::wake_requesters() {
    std::atomic<std::uint32_t>& waiting = ring_.shared->waiting;
    if (waiting.load(std::memory_order_seq_cst) == 0) return;
    if (waiting.exchange(0, std::memory_order_seq_cst) == 0) return;
    wake_attached();
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
    ring_.slot(slot)->taker.store(kSlotFreed, std::memory_order_release);
    free_.push_back(slot);
}

void SharedReceiveQueue::put_back(std::uint32_t slot) {
    {
        support::SpinLockGuard guard(lock_);
        if (posted_id(slot)) offer(slot);
    }
    wake_requesters();
}

void SharedReceiveQueue::note_completed(std::uint32_t slot) {
    if (posted_id(slot)) record(slot).completes.store(true, std::memory_order_relaxed);
}

void SharedReceiveQueue::each_taken(std::uint32_t qp_num,
                                    const std::function<void(std::uint32_t, bool)>& visit) {
    for (std::uint32_t slot = 0; slot < num_slots_.load(std::memory_order_acquire); ++slot) {
        // Read first: a slot that is polled and posted again meanwhile names no queue pair.
        const bool completes = record(slot).completes.load(std::memory_order_acquire);
        const std::uint64_t taker = ring_.slot(slot)->taker.load(std::memory_order_acquire);
        if ((taker & 0xffffff) == qp_num) visit(slot, completes);
    }
}

void SharedReceiveQueue::attach(QueuePairs::node_type&& made) {
    support::SpinLockGuard guard(lock_);
    attached_.insert(std::move(made));
}

SharedReceiveQueue::QueuePairs::node_type SharedReceiveQueue::detach(QueuePair* qp) {
    support::SpinLockGuard guard(lock_);
    return attached_.extract(qp);
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
        return SharedReceiveQueue::create(softverbs::ProtectionDomain::of(pd),
                                          attributes->srq_context, attributes->attr);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
    const softverbs::CancellationDisabled guard;
    try {
        return softverbs::also_errno(SharedReceiveQueue::of(srq).modify(*attributes, mask));
    } catch (const std::bad_alloc&) {
        return softverbs::also_errno(ENOMEM);
    }
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
    SharedReceiveQueue::of(srq).query(*attributes);
    return 0;
}

int ibv_destroy_srq(ibv_srq* srq) {
    const softverbs::CancellationDisabled guard;
    return softverbs::also_errno(SharedReceiveQueue::destroy(&SharedReceiveQueue::of(srq)));
}

}  // extern "C"
