// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/completion_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/ended_objects.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"

namespace softverbs {

CompletionQueue* CompletionQueue::create(Context& context, int entries, void* cq_context,
                                         ibv_comp_channel* channel, bool is_stamped) {
    if (is_refused(context.handle(), faults::Subject::kCreateCq)) return nullptr;
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
    if (const int cause = cq->allocate(size, waker ? waker->id : 0, is_stamped)) {
        errno = cause;
        return nullptr;
    }
    cq->handle = cq->index_;
    cq->cqe = static_cast<int>(size);
    pthread_mutex_init(&cq->mutex, nullptr);
    pthread_cond_init(&cq->cond, nullptr);
    try {
        if (waker) waker->add(cq.get());
    } catch (const std::bad_alloc&) {
        cq->withdraw();
        throw;
    }
    return cq.release();
}

/// Undoes allocate().
void CompletionQueue::withdraw() {
    Adapter& adapter = this->adapter();
    {
        support::MutexLock lock(adapter.mutex);
        header_->live.store(0, std::memory_order_release);
        adapter.remove(this, index_);
    }
    support::SpinLockGuard guard(lock_);
    release_ring(place_);
}

int CompletionQueue::allocate(std::uint32_t size, std::uint32_t channel_id, bool is_stamped) {
    SendCompletions::Storage storage = SendCompletions::storage(size);
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
    header_->moderation = 0;
    header_->channel = channel_id;
    header_->is_stamped = is_stamped ? 1 : 0;
    header_->lock = reinterpret_cast<std::uintptr_t>(&lock_);
    header_->ring = place->encode();
    header_->live.store(1, std::memory_order_release);
    support::SpinLockGuard guard(lock_);
    if (is_stamped) sends_.set_stamped();
    sends_.resize(size, storage);
    place_ = *place;
    ring_ = CompletionRing::at(adapter.view(), index_, place_);
    return 0;
}

int CompletionQueue::destroy(CompletionQueue* cq) {
    if (cq->handle != cq->index_) return ENOENT;
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
    const auto given = [cq] {
        return static_cast<std::uint32_t>(cq->events_taken_ + cq->early_events_);
    };
    while (cq->comp_events_completed != given()) pthread_cond_wait(&cq->cond, &cq->mutex);
    pthread_mutex_unlock(&cq->mutex);
    {
        support::SpinLockGuard guard(cq->lock_);
        cq->release_ring(cq->place_);
    }
    pthread_mutex_destroy(&cq->mutex);
    pthread_cond_destroy(&cq->cond);
    if (cq->parent_domain) --cq->parent_domain->users;
    end_object(cq);
    return 0;
}

/// Arms the queue. Being armed for any completion includes solicited ones, so a weaker request
/// changes nothing; but if events are held, the completions that wait are counted anew.
void CompletionQueue::request_event(Arm mode) {
    std::atomic<std::uint64_t>& notify = header_->notify;
    std::uint64_t word = notify.load(std::memory_order_seq_cst);
    if (Notify::arm(word) == Arm::kNone) armed_.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t armed;
    do {
        if (Notify::arm(word) == Arm::kAny) return;
        armed = Notify::armed(word, Notify::arm(word) == Arm::kHeld ? Arm::kHeld : mode);
    } while (!notify.compare_exchange_weak(word, armed, std::memory_order_seq_cst));
}

/// The specification does not require an event for completions that the queue holds already.
/// Hardware adapters raise it, and programs that poll one completion per event need it.
int CompletionQueue::arm(bool solicited_only) {
    Wake found = Wake::kNone;
    {
        support::SpinLockGuard lock(lock_);
        support::SpinLockGuard sends(sends_.lock);
        request_event(solicited_only ? Arm::kSolicited : arm_for_any());
        found = take_request();
    }
    wake(found);
    return 0;
}

/// Lets the completions that wait satisfy a request that has just been made.
Wake CompletionQueue::take_request() {
    // A peer publishes, then checks for the request: it sees the request, or we see its completion.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    Wake found = take_request_for_sends();
    if (found != Wake::kChannel) found = std::max(found, take_request_for_receives());
    if (found == Wake::kNone && moderation_.load(std::memory_order_relaxed) != 0)
        period_serial_.fetch_add(1, std::memory_order_relaxed);
    return found;
}

Wake CompletionQueue::take_request_for_sends() {
    Wake found = Wake::kNone;
    sends_.any([&](const SendCompletion& completion) {
        if (!completion.qp) return false;
        found = std::max(found, take_arming(*header_, completion.status != IBV_WC_SUCCESS));
        return found == Wake::kChannel;
    });
    return found;
}

void CompletionQueue::tell(bool is_put, Wake found) {
    if (!is_put) return note_overrun();
    wake(found);
}

void CompletionQueue::wake(Wake found) {
    if (found == Wake::kPeriod) return call_service();
    CompletionChannel* channel = completion_channel();
    if (found == Wake::kChannel && channel) channel->wake();
}

void CompletionQueue::post(const Completion& completion) {
    Wake found = Wake::kNone;
    {
        support::SpinLockGuard lock(lock_);
        CompletionRing& ring = next_.valid() ? next_ : ring_;
        const CompletionRing::Place place = ring.claim(completion.qp_num, Producer::kOwner);
        if (!place.entry) return note_overrun();
        found = ring.publish(place, completion);
    }
    wake(found);
}

/// The service thread reports it.
void CompletionQueue::note_overrun() {
    header_->overrun.store(1, std::memory_order_release);
    call_service();
}

void CompletionQueue::call_service() {
    ArenaHeader& header = adapter().view().header();
    set_kick(header.cq_kicks, header.cq_kick_summary, index_);
    adapter().process().self()->ring_doorbell();
}

void CompletionQueue::serve_kick() {
    CqHeader& header = *header_;
    if (header.overrun.exchange(0, std::memory_order_acq_rel) != 0) report_overrun();
    const bool is_deferred = header.deferred_wakes.exchange(0, std::memory_order_acq_rel) != 0;
    CompletionChannel* channel = completion_channel();
    if (is_deferred && channel) channel->wake();
    watch_period();
    place_payloads();
}

/// Also compares with armed_, as a peer may have written any count.
std::uint64_t CompletionQueue::waiting_events() const {
    const std::uint64_t counted = Notify::events(header_->notify.load(std::memory_order_seq_cst));
    const std::uint64_t taken = events_taken_.load(std::memory_order_relaxed);
    const std::uint64_t armed = armed_.load(std::memory_order_relaxed);
    return taken < armed ? std::min((counted - taken) & Notify::kEventsMask, armed - taken) : 0;
}

bool CompletionQueue::take_event() {
    if (waiting_events() == 0) return false;
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
        return softverbs::also_errno(CompletionQueue::of(cq).resize(entries));
    } catch (const std::bad_alloc&) {
        return softverbs::also_errno(ENOMEM);
    }
}

int ibv_destroy_cq(ibv_cq* cq) {
    const softverbs::CancellationDisabled guard;
    return softverbs::also_errno(CompletionQueue::destroy(&CompletionQueue::of(cq)));
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
    if (count != 0) CompletionQueue::of(cq).acknowledge(count);
}

}  // extern "C"
