// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completion queues and completion channels, as their owner sees them.
#pragma once

#include <infiniband/verbs.h>

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "dapl/support/mutex.hpp"
#include "providers/soft/verbs/completion_ring.hpp"
#include "providers/soft/verbs/context.hpp"
#include "providers/soft/verbs/extended.hpp"
#include "providers/soft/verbs/poll_patience.hpp"
#include "providers/soft/verbs/send_completions.hpp"

namespace softverbs {

class CompletionQueue;
class QueuePair;

/// The descriptor is an eventfd in semaphore mode, so that it counts events and that processes
/// which got it by SCM_RIGHTS can raise it. It may count more than there are events (a producer
/// died between two steps), never fewer.
class CompletionChannel : public ibv_comp_channel {
  public:
    static CompletionChannel& of(ibv_comp_channel* channel) {
        return *static_cast<CompletionChannel*>(channel);
    }
    std::uint32_t id = 0;  ///< not reused in a process
    void add(CompletionQueue* cq) EXCLUDES(mutex_);
    void remove(CompletionQueue* cq) EXCLUDES(mutex_);
    /// @return nullptr with errno.
    CompletionQueue* next_event() EXCLUDES(mutex_);
    void wake(std::uint64_t events = 1);

  private:
    CompletionQueue* take_event() EXCLUDES(mutex_);
    support::Mutex mutex_;
    std::vector<CompletionQueue*> queues_ GUARDED_BY(mutex_);
    std::size_t turn_ GUARDED_BY(mutex_) = 0;  ///< so that no queue starves another
};

class CompletionQueue : public ExtendableCq {
  public:
    static CompletionQueue& of(ibv_cq* cq) { return *static_cast<CompletionQueue*>(cq); }
    /// @return nullptr with errno.
    static CompletionQueue* create(Context& context, int entries, void* cq_context,
                                   ibv_comp_channel* channel);
    /// @return 0 or EBUSY while queue pairs use it.
    static int destroy(CompletionQueue* cq);

    /// Producers are at work meanwhile. What waits stays, in order; the request for an event too.
    /// @return 0 or an errno, EINVAL when more completions of either kind wait than shall fit.
    int resize(int entries) EXCLUDES(lock_);
    int poll(int count, ibv_wc* wc) EXCLUDES(lock_);
    int arm(bool solicited_only) EXCLUDES(sends_.lock);
    /// A completion by the owner, of a send or of a flushed receive. A full queue is reported.
    void post(const SendCompletion& completion) EXCLUDES(sends_.lock);
    void post(const Completion& completion) EXCLUDES(lock_);
    /// What a kick asks for: wake-ups that a producer left to us; a queue that was found full,
    /// which the user is told and which breaks its queue pairs. Service thread, with the adapter's
    /// mutex.
    void serve_kick(const std::set<QueuePair*>& queue_pairs);
    /// A producer has died: wakes the channel again for what it may not have told of.
    void repeat_wake() EXCLUDES(lock_);

    /// For a queue pair whose requester has stopped: makes void what it claimed and did not
    /// publish. @return the receive slots (positions) whose completions wait in the queue.
    /// @param inspect called with the queue's lock held, while nobody polls.
    std::vector<std::uint32_t> settle_receives(std::uint32_t qp_num,
                                               const std::function<void()>& inspect)
        EXCLUDES(lock_);
    /// Removes every completion of a queue pair that is being destroyed.
    void purge(const QueuePair& qp) EXCLUDES(lock_);
    /// Copies payloads that still wait in receive slots to their buffers: a registration is about
    /// to go.
    void deliver_payloads() EXCLUDES(lock_);

    bool take_event();  ///< one completion event, if one is there
    void acknowledge(unsigned events);

    std::uint32_t index() const { return index_; }
    Adapter& adapter() const { return *Context::of(context).adapter; }
    CompletionChannel* completion_channel() const {
        return static_cast<CompletionChannel*>(channel);
    }
    std::atomic<int> users{0};

    // -- extended_completion.cpp
    ibv_wc polled{};            ///< of start_poll and next_poll; whose poll it is owns it
    support::Mutex poll_mutex;  ///< held from start_poll to end_poll; outermost

  private:
    /// Completions of receives that were in a ring which has been replaced, oldest first.
    struct Backlog {
        std::unique_ptr<CqEntry[]> entries;
        std::uint32_t head = 0;
        std::uint32_t size = 0;

        std::uint32_t left() const { return size - head; }
    };

    void note_overrun();
    void report_overrun(const std::set<QueuePair*>& queue_pairs);
    int take(int count, ibv_wc* wc) REQUIRES(lock_);
    int take_sends(int count, ibv_wc* wc) REQUIRES(lock_);
    int take_receives(int count, ibv_wc* wc) REQUIRES(lock_);
    int take_backlog(int count, ibv_wc* wc) REQUIRES(lock_);
    bool convert(const CqEntry& entry, ibv_wc& wc) REQUIRES(lock_);
    int allocate(std::uint32_t size, std::uint32_t channel_id);

    // -- completion_queue_resize.cpp
    /// Calls visit(entry, Standing) for all that is claimed, ready or void, oldest first.
    template <class Visit>
    void each_entry(Visit visit) REQUIRES(lock_);
    Result<RingPlace> make_ring(std::uint32_t size);
    void release_ring(RingPlace place);
    bool fits(std::uint32_t size) REQUIRES(lock_);
    bool take_request_for_waiting() REQUIRES(lock_);
    void change_over(Backlog backlog) EXCLUDES(lock_);

    CqHeader* header_ = nullptr;
    std::uint32_t index_ = 0;
    support::SpinLock lock_;  ///< of whoever takes completions out
    SendCompletions sends_;
    unsigned polls_for_sends_ GUARDED_BY(lock_) = 0;  ///< in a row, with no look at the ring
    RingPlace place_ GUARDED_BY(lock_);
    CompletionRing ring_ GUARDED_BY(lock_);
    std::uint64_t head_ GUARDED_BY(lock_) = 0;
    Backlog backlog_ GUARDED_BY(lock_);
    /// While the ring is being replaced: where producers that begin now put completions.
    CompletionRing next_ GUARDED_BY(lock_);
    PollPatience patience_ GUARDED_BY(lock_);
    std::atomic<std::uint64_t> events_taken_{0};
    bool overrun_told_ = false;
};

}  // namespace softverbs
