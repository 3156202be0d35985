// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/completion_queue.hpp"

#include <cerrno>
#include <memory>
#include <new>

#include "providers/soft/verbs/fault_points.hpp"
#include "providers/soft/verbs/query.hpp"
#include "providers/soft/verbs/queue_pair.hpp"
#include "providers/soft/verbs/region_exchange.hpp"

namespace softverbs {
namespace {

/// Whoever posts a send for each completion of one must not keep the receives waiting.
constexpr unsigned kPollsForSendsInARow = 64;

}  // namespace

CompletionQueue* CompletionQueue::create(Context& context, int entries, void* cq_context,
                                         ibv_comp_channel* channel) {
    if (entries < 1 || entries > static_cast<int>(kMaxCqEntries)) {
        errno = EINVAL;
        return nullptr;
    }
    auto cq = std::make_unique<CompletionQueue>();
    cq->context = context.handle();
    cq->channel = channel;
    cq->cq_context = cq_context;
    const std::uint32_t size = ring_size(static_cast<std::uint32_t>(entries));
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
    const Result<RingPlace> place = make_ring(size);
    if (!place) return place.error();
    Adapter& adapter = this->adapter();
    support::MutexLock lock(adapter.mutex);
    const Result<std::uint32_t> index = adapter.add(this);
    if (!index) {
        release_ring(*place);
        return index.error();
    }
    index_ = *index;
    header_ = adapter.view().cq(index_);
    header_->tails[place->turn].position = 0;
    header_->heads[place->turn] = 0;
    header_->notify = 0;
    header_->overrun = 0;
    header_->deferred_wakes = 0;
    header_->channel = channel_id;
    header_->lock = reinterpret_cast<std::uintptr_t>(&lock_);
    header_->ring = place->encode();
    header_->live.store(1, std::memory_order_release);
    SendCompletions::Storage storage = SendCompletions::storage(size);
    support::SpinLockGuard guard(lock_);
    sends_.resize(size, storage);
    place_ = *place;
    ring_ = CompletionRing::at(adapter.view(), index_, place_);
    return 0;
}

int CompletionQueue::destroy(CompletionQueue* cq) {
    if (cq->users != 0) return EBUSY;
    Adapter& adapter = cq->adapter();
    {
        support::MutexLock lock(adapter.mutex);
        cq->header_->live.store(0, std::memory_order_release);
        adapter.remove(cq, cq->index_);
    }
    if (CompletionChannel* channel = cq->completion_channel()) channel->remove(cq);
    Context::of(cq->context).events.retire(cq);
    pthread_mutex_lock(&cq->mutex);
    while (cq->comp_events_completed != static_cast<std::uint32_t>(cq->events_taken_.load()))
        pthread_cond_wait(&cq->cond, &cq->mutex);
    pthread_mutex_unlock(&cq->mutex);
    {
        support::SpinLockGuard guard(cq->lock_);
        cq->release_ring(cq->place_);
    }
    pthread_mutex_destroy(&cq->mutex);
    pthread_cond_destroy(&cq->cond);
    delete cq;
    return 0;
}

[[gnu::flatten]] int CompletionQueue::poll(int count, ibv_wc* wc) {
    {
        support::SpinLockGuard lock(lock_);
        const int found = take(count, wc);
        if (found != 0) {
            patience_.found_something();
            return found;
        }
        if (!patience_.found_nothing()) return 0;
    }
    const bool somebody_ran = PollPatience::yield();
    if (adapter().hot_for_application.load(std::memory_order_relaxed) != 0)
        exchange_at_leisure(adapter());
    support::SpinLockGuard lock(lock_);
    patience_.yielded(somebody_ran);
    return 0;
}

/// Sends first: the completion of a request is then seen before the receive of its answer.
int CompletionQueue::take(int count, ibv_wc* wc) {
    int found = 0;
    if (polls_for_sends_ >= kPollsForSendsInARow) {
        polls_for_sends_ = 0;
        found = take_receives(count, wc);
    }
    if (!sends_.empty()) found += take_sends(count - found, wc + found);
    if (found == count) {
        ++polls_for_sends_;
        return found;
    }
    polls_for_sends_ = 0;
    return found + take_receives(count - found, wc + found);
}

int CompletionQueue::take_sends(int count, ibv_wc* wc) {
    int found = 0;
    for (; found < count && !sends_.empty(); sends_.drop_oldest()) {
        const SendCompletion& from = sends_.oldest();
        if (!from.qp) continue;
        ibv_wc& to = wc[found++];
        to = {};
        to.wr_id = from.wr_id;
        to.status = static_cast<ibv_wc_status>(from.status);
        to.opcode = static_cast<ibv_wc_opcode>(from.opcode);
        to.byte_len = from.byte_len;
        to.qp_num = from.qp->qp_num;
        from.qp->finish_send(from.position);
    }
    return found;
}

int CompletionQueue::take_receives(int count, ibv_wc* wc) {
    int found = backlog_.left() != 0 ? take_backlog(count, wc) : 0;
    const std::uint64_t before = head_;
    while (found < count) {
        const CqEntry& entry = ring_.entry(head_);
        const EntryState state = EntryState::decode(entry.state.load(std::memory_order_acquire));
        if (state.position != static_cast<std::uint32_t>(head_) || state.phase == Phase::kOld)
            break;
        if (state.phase == Phase::kReady && convert(entry, wc[found])) ++found;
        ++head_;
    }
    if (head_ == before) return found;
    ring_.set_head(head_);
    fault_point(FaultPoint::kCompletionFreed);
    return found;
}

[[gnu::noinline]] int CompletionQueue::take_backlog(int count, ibv_wc* wc) {
    int found = 0;
    while (found < count && backlog_.left() != 0) {
        const CqEntry& entry = backlog_.entries[backlog_.head++];
        const EntryState state = EntryState::decode(entry.state.load(std::memory_order_relaxed));
        if (state.phase == Phase::kReady && convert(entry, wc[found])) ++found;
    }
    if (backlog_.left() == 0) backlog_ = {};
    return found;
}

/// The entry may have been written by a peer: the queue pair is looked up, and what it says about
/// the entry counts.
bool CompletionQueue::convert(const CqEntry& entry, ibv_wc& wc) {
    const std::uint32_t qp_num = entry.qp_num;
    (void)adapter().agent_copies.load(std::memory_order_acquire);
    QueuePair* qp = adapter().find_receiver(qp_num, index_);
    if (!qp) return false;
    wc = {};
    wc.status = static_cast<ibv_wc_status>(entry.status);
    wc.opcode = static_cast<ibv_wc_opcode>(entry.opcode + IBV_WC_RECV);
    wc.byte_len = entry.byte_len;
    wc.imm_data = entry.imm_data;
    wc.qp_num = qp_num;
    wc.src_qp = entry.src_qp;
    wc.wc_flags = entry.wc_flags;
    return qp->finish_receive(entry, wc);
}

int CompletionQueue::arm(bool solicited_only) {
    const auto mode = static_cast<std::uint64_t>(solicited_only ? Arm::kSolicited : Arm::kAny);
    support::SpinLockGuard lock(sends_.lock);
    std::atomic<std::uint64_t>& notify = header_->notify;
    std::uint64_t word = notify.load(std::memory_order_seq_cst);
    std::uint64_t armed;
    do {
        // Armed for any completion includes solicited ones: a weaker request changes nothing.
        if (static_cast<Arm>(word & 0xff) == Arm::kAny) return 0;
        armed = (word & ~std::uint64_t{0xff}) | mode;
    } while (!notify.compare_exchange_weak(word, armed, std::memory_order_seq_cst));
    return 0;
}

void CompletionQueue::post(const SendCompletion& completion) {
    bool wakes = false;
    {
        support::SpinLockGuard lock(sends_.lock);
        if (!sends_.put(completion)) return note_overrun();
        wakes = take_arming(*header_, completion.status != IBV_WC_SUCCESS);
    }
    if (!wakes) return;
    if (CompletionChannel* channel = completion_channel()) channel->wake();
}

void CompletionQueue::post(const Completion& completion) {
    {
        support::SpinLockGuard lock(lock_);
        CompletionRing& ring = next_.valid() ? next_ : ring_;
        const CompletionRing::Place place = ring.claim(completion.qp_num, Producer::kOwner);
        if (!place.entry) return note_overrun();
        if (!ring.publish(place, completion)) return;
    }
    if (CompletionChannel* channel = completion_channel()) channel->wake();
}

/// The service thread tells it.
void CompletionQueue::note_overrun() {
    header_->overrun.store(1, std::memory_order_release);
    ArenaHeader& header = adapter().view().header();
    set_kick(header.cq_kicks, header.cq_kick_summary, index_);
    adapter().process().self()->ring_doorbell();
}

void CompletionQueue::serve_kick(const std::set<QueuePair*>& queue_pairs) {
    CqHeader& header = *header_;
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

bool CompletionQueue::take_event() {
    const std::uint64_t counted = header_->notify.load(std::memory_order_seq_cst) >> 8;
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

int ibv_resize_cq(ibv_cq* cq, int entries) {
    const softverbs::CancellationDisabled guard;
    try {
        return CompletionQueue::of(cq).resize(entries);
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

int ibv_destroy_cq(ibv_cq* cq) {
    const softverbs::CancellationDisabled guard;
    return CompletionQueue::destroy(&CompletionQueue::of(cq));
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
    if (count != 0) CompletionQueue::of(cq).acknowledge(count);
}

}  // extern "C"
