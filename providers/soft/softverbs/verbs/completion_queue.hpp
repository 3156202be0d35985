// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completion queues and completion channels, as their owner sees them.
#pragma once

#include <infiniband/verbs.h>

#include <functional>
#include <memory>
#include <vector>

#include "providers/soft/softverbs/verbs/completion_ring.hpp"
#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/extended.hpp"
#include "providers/soft/softverbs/verbs/poll_patience.hpp"
#include "providers/soft/softverbs/verbs/send_completions.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class CompletionQueue;
class QueuePair;

/// The descriptor is a Bell's: readable while an event may be there. The events themselves are
/// counted in the queues.
class CompletionChannel : public ibv_comp_channel {
  public:
    static CompletionChannel& of(ibv_comp_channel* channel) {
        return *static_cast<CompletionChannel*>(channel);
    }
    explicit CompletionChannel(Context& context, Bell bell);
    ~CompletionChannel();
    const std::uint32_t id;  ///< not reused in a process
    void add(CompletionQueue* cq) EXCLUDES(mutex_);
    void remove(CompletionQueue* cq) EXCLUDES(mutex_);
    /// @return nullptr with errno.
    CompletionQueue* next_event() EXCLUDES(mutex_);
    void wake() const { (void)bell_.ring(); }
    /// A descriptor by which a peer wakes it. Service thread.
    Result<UniqueFd> lend(Process& process);

  private:
    CompletionQueue* take_event() EXCLUDES(mutex_);
    void stay_readable() EXCLUDES(mutex_);
    std::string name() const { return "channel-" + std::to_string(id); }
    Bell bell_;
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
    /// @return 0 or an errno: EINVAL when more completions of either kind wait than shall fit;
    /// EBUSY when a producer has stopped in the middle of a completion. The size changes when that
    /// is over, and a later call waits for it again.
    int resize(int entries) EXCLUDES(lock_);
    int poll(int count, ibv_wc* wc) EXCLUDES(lock_);
    /// Exactly one event for each request: at once where the queue holds such a completion.
    int arm(bool solicited_only) EXCLUDES(lock_, sends_.lock);
    /// A completion by the owner, of a send or of a flushed receive. A full queue is reported.
    void post(const SendCompletion& completion) EXCLUDES(sends_.lock);
    void post(const Completion& completion) EXCLUDES(lock_);
    /// What a kick asks for: wake-ups that a producer left to us; a queue that was found full,
    /// which the user is told and which breaks its queue pairs. Service thread, with the adapter's
    /// mutex.
    void serve_kick() REQUIRES(adapter().mutex);
    /// A producer has died: wakes the channel again for what it may not have told of.
    void repeat_wake() EXCLUDES(lock_);

    /// For a queue pair whose requester has stopped: makes void what it claimed and did not
    /// publish. @return how many completions of its receives wait in the queue.
    /// @param inspect called with the queue's lock held, while nobody polls.
    /// @param completes called so for each of them, with the position of its receive.
    std::uint32_t settle_receives(
        std::uint32_t qp_num, const std::function<void()>& inspect = [] {},
        const std::function<void(std::uint32_t)>& completes = [](std::uint32_t) {}) EXCLUDES(lock_);
    /// Removes every completion of a queue pair that is being destroyed.
    void purge(const QueuePair& qp) EXCLUDES(lock_);
    /// Copies payloads that wait for a poll to the posted buffers.
    void place_payloads() EXCLUDES(lock_);
    /// Waits for the thread that is taking completions out, and may be placing a payload.
    void pass_pollers() EXCLUDES(lock_) {
        if (!lock_.is_held()) return;
        const support::SpinLockGuard guard(lock_);
    }

    bool take_event();  ///< one completion event, if one is there
    bool has_event() const;
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
        std::unique_ptr<CqEntry[]> entries;  ///< neither made nor freed with lock_ held
        std::uint32_t head = 0;
        std::uint32_t size = 0;

        std::uint32_t left() const { return size - head; }
    };

    void note_overrun();
    int allocate(std::uint32_t size, std::uint32_t channel_id);
    void withdraw();
    void request_event(Arm mode);
    bool take_request_for_sends() REQUIRES(lock_, sends_.lock);

    // -- completion_poll.cpp, with poll()
    void report_overrun() REQUIRES(adapter().mutex);
    int take(int count, ibv_wc* wc) REQUIRES(lock_);
    int take_sends(int count, ibv_wc* wc) REQUIRES(lock_);
    int take_receives(int count, ibv_wc* wc) REQUIRES(lock_);
    int take_backlog(int count, ibv_wc* wc) REQUIRES(lock_);
    bool convert(const CqEntry& entry, ibv_wc& wc) REQUIRES(lock_);
    void report_failed_receives(const ibv_wc* wc, int count) const;

    // -- completion_queue_resize.cpp
    /// Calls visit(entry, Standing) for all that is claimed, ready or void, oldest first.
    template <class Visit>
    void each_entry(Visit visit) REQUIRES(lock_);
    Result<RingPlace> make_ring(std::uint32_t size);
    void release_ring(RingPlace place);
    bool fits(std::uint32_t size) REQUIRES(lock_);
    bool take_request_for_receives() REQUIRES(lock_);
    /// The memory of a resize: made before any lock is taken, and when it has been exchanged for
    /// the previous one, freed after all locks are dropped.
    struct ResizeMemory {
        Backlog backlog;
        SendCompletions::Storage storage;
    };
    /// A ring that is being replaced, until its producers have finished.
    struct Replacement {
        std::uint32_t size = 0;  ///< 0: none
        RingPlace before;
        ResizeMemory memory;
    };
    int begin_replacement(std::uint32_t size) REQUIRES(resize_mutex_);
    int finish_replacement(Deadline deadline, ResizeMemory& replaced) REQUIRES(resize_mutex_);
    /// On the service thread: a resize that returned EBUSY goes on.
    static void finish_later(Adapter& adapter, std::uint32_t index);
    /// With the adapter's mutex. @return whether nothing is left to be done.
    bool resume_replacement(ResizeMemory& replaced) EXCLUDES(lock_, resize_mutex_);
    void change_over(Backlog& backlog) EXCLUDES(lock_);

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
    /// How often it has been armed: the most events that there can have been.
    std::atomic<std::uint64_t> armed_{0};
    bool overrun_told_ = false;
    /// A receive has been taken that failed: its queue pair is to be told.
    bool receive_failed_ GUARDED_BY(lock_) = false;
    support::Mutex resize_mutex_;  ///< of resize() alone; outermost
    Replacement replacement_ GUARDED_BY(resize_mutex_);
};

}  // namespace softverbs
