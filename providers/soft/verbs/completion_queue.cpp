// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/completion_queue.hpp"

#include <sched.h>

#include <bit>
#include <cerrno>
#include <memory>
#include <new>

#include "providers/soft/verbs/query.hpp"
#include "providers/soft/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

/// Both ends of a connection may poll on one core: after this many empty polls the other end gets
/// its turn.
constexpr unsigned kEmptyPollsBeforeYield = 64;
constexpr std::uint32_t kSmallestRing = 16;

}  // namespace

CompletionQueue* CompletionQueue::create(Context& context, int entries, void* cq_context,
                                         ibv_comp_channel* channel) {
    if (entries < 1 || entries > static_cast<int>(kMaxCqEntries)) {
        errno = EINVAL;
        return nullptr;
    }
    auto cq = std::make_unique<CompletionQueue>();
    static_cast<ibv_cq&>(*cq) = ibv_cq{};
    cq->context = context.handle();
    cq->channel = channel;
    cq->cq_context = cq_context;
    const std::uint32_t size =
        std::max(kSmallestRing, std::bit_ceil(static_cast<std::uint32_t>(entries)));
    CompletionChannel* waker = cq->completion_channel();
    if (const int cause = cq->allocate(size, waker ? waker->id : 0)) {
        errno = cause;
        return nullptr;
    }
    cq->handle = cq->index_;
    cq->cqe = static_cast<int>(size);
    pthread_mutex_init(&cq->mutex, nullptr);
    pthread_cond_init(&cq->cond, nullptr);
    if (waker) waker->add(cq.get());
    return cq.release();
}

int CompletionQueue::allocate(std::uint32_t size, std::uint32_t channel_id) {
    Adapter& adapter = this->adapter();
    const std::uint64_t offset = adapter.arena().allocate(std::uint64_t{size} * sizeof(CqEntry));
    if (offset == 0) return ENOMEM;
    support::MutexLock lock(adapter.mutex);
    const Result<std::uint32_t> index = adapter.add(this);
    if (!index) {
        adapter.arena().release(offset, std::uint64_t{size} * sizeof(CqEntry));
        return index.error();
    }
    index_ = *index;
    ring_offset_ = offset;
    CqHeader& header = *adapter.view().cq(index_);
    auto* entries = adapter.view().array<CqEntry>(offset, std::uint64_t{size} * sizeof(CqEntry));
    for (std::uint32_t i = 0; i < size; ++i) entries[i].state = EntryState::free_at(i);
    header.tail = 0;
    header.notify = 0;
    header.overrun = 0;
    header.ring_size = size;
    header.ring_offset = offset;
    header.channel = channel_id;
    header.live.store(1, std::memory_order_release);
    ring_ = CompletionRing::of(adapter.view(), index_);
    return 0;
}

int CompletionQueue::destroy(CompletionQueue* cq) {
    if (cq->users != 0) return EBUSY;
    Adapter& adapter = cq->adapter();
    {
        support::MutexLock lock(adapter.mutex);
        cq->ring_.header().live.store(0, std::memory_order_release);
        adapter.remove(cq, cq->index_);
    }
    if (CompletionChannel* channel = cq->completion_channel()) channel->remove(cq);
    Context::of(cq->context).events.retire(cq);
    pthread_mutex_lock(&cq->mutex);
    while (cq->comp_events_completed != static_cast<std::uint32_t>(cq->events_taken_.load()))
        pthread_cond_wait(&cq->cond, &cq->mutex);
    pthread_mutex_unlock(&cq->mutex);
    adapter.arena().release(cq->ring_offset_, std::uint64_t{cq->ring_.size()} * sizeof(CqEntry));
    pthread_mutex_destroy(&cq->mutex);
    pthread_cond_destroy(&cq->cond);
    delete cq;
    return 0;
}

int CompletionQueue::poll(int count, ibv_wc* wc) {
    int found = 0;
    bool yield = false;
    {
        support::SpinLockGuard lock(lock_);
        while (found < count) {
            CqEntry& entry = entry_at(head_);
            const EntryState state =
                EntryState::decode(entry.state.load(std::memory_order_seq_cst));
            if (state.position != static_cast<std::uint32_t>(head_) ||
                (state.phase != Phase::kReady && state.phase != Phase::kVoid)) {
                break;
            }
            if (state.phase == Phase::kReady && convert(entry, wc[found])) ++found;
            entry.state.store(EntryState::free_at(head_ + ring_.size()), std::memory_order_release);
            ++head_;
        }
        if (found != 0)
            empty_polls_ = 0;
        else
            yield = ++empty_polls_ % kEmptyPollsBeforeYield == 0;
    }
    if (yield) sched_yield();
    return found;
}

/// The entry may have been written by a peer: the queue pair is looked up, and what it says about
/// the entry counts.
bool CompletionQueue::convert(CqEntry& entry, ibv_wc& wc) {
    const std::uint8_t flags = entry.flags;
    const std::uint32_t qp_num = entry.qp_num;
    (void)adapter().agent_copies.load(std::memory_order_acquire);
    QueuePair* qp = adapter().find_qp(qp_num);
    if (!qp) return false;
    wc.status = static_cast<ibv_wc_status>(entry.status);
    wc.opcode = static_cast<ibv_wc_opcode>((flags & kIsReceive) != 0 ? entry.opcode + IBV_WC_RECV
                                                                     : entry.opcode);
    wc.vendor_err = 0;
    wc.byte_len = entry.byte_len;
    wc.imm_data = entry.imm_data;
    wc.qp_num = qp_num;
    wc.src_qp = entry.src_qp;
    wc.wc_flags = entry.wc_flags;
    wc.pkey_index = 0;
    wc.slid = 0;
    wc.sl = 0;
    wc.dlid_path_bits = 0;
    if ((flags & kIsReceive) != 0) return qp->finish_receive(entry, wc);
    wc.wr_id = entry.wr_id;
    qp->finish_send(entry.position);
    return true;
}

int CompletionQueue::arm(bool solicited_only) {
    const auto mode = static_cast<std::uint64_t>(solicited_only ? Arm::kSolicited : Arm::kAny);
    std::atomic<std::uint64_t>& notify = ring_.header().notify;
    std::uint64_t word = notify.load(std::memory_order_seq_cst);
    std::uint64_t armed;
    do {
        // Armed for any completion includes solicited ones: a weaker request changes nothing.
        if (static_cast<Arm>(word & 0xff) == Arm::kAny) return 0;
        armed = (word & ~std::uint64_t{0xff}) | mode;
    } while (!notify.compare_exchange_weak(word, armed, std::memory_order_seq_cst));
    return 0;
}

void CompletionQueue::post(const Completion& completion) {
    CqEntry* entry = ring_.claim(completion.qp_num, Producer::kOwner);
    if (!entry) {
        ring_.header().overrun.store(1, std::memory_order_release);
        ArenaHeader& header = adapter().view().header();
        set_kick(header.cq_kicks, header.cq_kick_summary, index_);
        adapter().process().self()->ring_doorbell();
        return;
    }
    if (ring_.publish(*entry, completion)) {
        if (CompletionChannel* channel = completion_channel()) channel->wake();
    }
}

void CompletionQueue::serve_kick(const std::set<QueuePair*>& queue_pairs) {
    CqHeader& header = ring_.header();
    if (header.overrun.exchange(0, std::memory_order_acq_rel) != 0) report_overrun(queue_pairs);
    const std::uint32_t deferred = header.deferred_wakes.exchange(0, std::memory_order_acq_rel);
    CompletionChannel* channel = completion_channel();
    if (deferred != 0 && channel) channel->wake(deferred);
}

void CompletionQueue::report_overrun(const std::set<QueuePair*>& queue_pairs) {
    if (!overrun_told_) {
        overrun_told_ = true;
        ibv_async_event event{};
        event.element.cq = this;
        event.event_type = IBV_EVENT_CQ_ERR;
        Context::of(context).events.push(event);
    }
    for (QueuePair* qp : queue_pairs) {
        if (qp->send_cq == this || qp->recv_cq == this) qp->fail(IBV_EVENT_QP_FATAL);
    }
}

void CompletionQueue::repeat_wake() {
    const std::uint64_t counted = ring_.header().notify.load(std::memory_order_seq_cst) >> 8;
    CompletionChannel* channel = completion_channel();
    if (channel && counted != events_taken_.load()) channel->wake();
}

bool CompletionQueue::take_event() {
    const std::uint64_t counted = ring_.header().notify.load(std::memory_order_seq_cst) >> 8;
    if (counted == events_taken_.load(std::memory_order_relaxed)) return false;
    events_taken_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void CompletionQueue::acknowledge(unsigned events) {
    pthread_mutex_lock(&mutex);
    comp_events_completed += events;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
}

std::vector<std::uint32_t> CompletionQueue::settle_receives(std::uint32_t qp_num,
                                                            const std::function<void()>& inspect) {
    std::vector<std::uint32_t> waiting;
    support::SpinLockGuard lock(lock_);
    inspect();
    for (std::uint64_t at = head_; at != head_ + ring_.size(); ++at) {
        CqEntry& entry = entry_at(at);
        std::uint64_t word = entry.state.load(std::memory_order_acquire);
        EntryState state = EntryState::decode(word);
        if (state.position != static_cast<std::uint32_t>(at) || state.phase == Phase::kFree) break;
        if (state.qp_num != qp_num) continue;
        if (state.phase == Phase::kReady && (entry.flags & kIsReceive) != 0)
            waiting.push_back(entry.position);
        if (state.phase == Phase::kClaimed && state.producer == Producer::kRequester) {
            state.phase = Phase::kVoid;
            entry.state.compare_exchange_strong(word, state.encode(), std::memory_order_acq_rel);
        }
    }
    return waiting;
}

void CompletionQueue::purge(std::uint32_t qp_num) {
    support::SpinLockGuard lock(lock_);
    for (std::uint64_t at = head_; at != head_ + ring_.size(); ++at) {
        CqEntry& entry = entry_at(at);
        EntryState state = EntryState::decode(entry.state.load(std::memory_order_acquire));
        if (state.position != static_cast<std::uint32_t>(at) || state.phase == Phase::kFree) break;
        if (state.qp_num != qp_num) continue;
        state.phase = Phase::kVoid;
        entry.state.store(state.encode(), std::memory_order_release);
    }
}

void CompletionQueue::deliver_payloads() {
    support::SpinLockGuard lock(lock_);
    for (std::uint64_t at = head_; at != head_ + ring_.size(); ++at) {
        CqEntry& entry = entry_at(at);
        const EntryState state = EntryState::decode(entry.state.load(std::memory_order_acquire));
        if (state.position != static_cast<std::uint32_t>(at) || state.phase == Phase::kFree) break;
        if (state.phase != Phase::kReady || (entry.flags & kInSlot) == 0) continue;
        if (QueuePair* qp = adapter().find_qp(entry.qp_num)) qp->deliver_payload(entry);
        entry.flags = static_cast<std::uint8_t>(entry.flags & ~kInSlot);
    }
}

}  // namespace softverbs

extern "C" {

using softverbs::CompletionQueue;

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                      ibv_comp_channel* channel, int comp_vector) {
    const softverbs::CancellationDisabled guard;
    if (comp_vector < 0 || comp_vector >= context->num_comp_vectors) {
        errno = EINVAL;
        return nullptr;
    }
    try {
        return CompletionQueue::create(softverbs::Context::of(context), entries, cq_context,
                                       channel);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

int ibv_resize_cq(ibv_cq*, int) {
    return EOPNOTSUPP;
}

int ibv_destroy_cq(ibv_cq* cq) {
    const softverbs::CancellationDisabled guard;
    return CompletionQueue::destroy(&CompletionQueue::of(cq));
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
    if (count != 0) CompletionQueue::of(cq).acknowledge(count);
}

}  // extern "C"
