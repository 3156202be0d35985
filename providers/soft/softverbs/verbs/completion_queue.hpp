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
#include "providers/soft/softverbs/verbs/send_completions.hpp"
#include "support/thread/mutex.hpp"
#include "support/thread/poll_patience.hpp"

namespace softverbs {

class CompletionQueue;
class QueuePair;

/// A completion channel. Its descriptor is a Bell's: readable while there may be an event. The
/// events themselves are counted in the queues.
class CompletionChannel : public ibv_comp_channel {
  public:
    static CompletionChannel& of(ibv_comp_channel* channel) {
        return *static_cast<CompletionChannel*>(channel);
    }
    explicit CompletionChannel(Context& context, Bell bell);
    ~CompletionChannel();
    const std::uint32_t id;  ///< unique in the process, never reused
    void add(CompletionQueue* cq) EXCLUDES(mutex_);
    void remove(CompletionQueue* cq) EXCLUDES(mutex_);
    /// Waits for an event and consumes it. @return its queue, or nullptr with errno.
    CompletionQueue* next_event() EXCLUDES(mutex_);
    void wake() const { (void)bell_.ring(); }
    /// Makes the descriptor readable if there are events and it is not: there may be fewer tokens
    /// than events, because a token is not sent when the socket is full, or its sender has died.
    void stay_readable() EXCLUDES(mutex_);
    /// @return a descriptor by which a peer wakes the channel. Called by the service thread.
    Result<UniqueFd> lend(Process& process);

  private:
    CompletionQueue* take_event() EXCLUDES(mutex_);
    bool is_blocking() const;
    /// @return a queue without an event, which gives one to a program that does not block and has
    /// taken an unmatched token; nullptr if there is none.
    CompletionQueue* match_token() EXCLUDES(mutex_);
    std::string name() const { return "channel-" + std::to_string(id); }
    Bell bell_;
    support::Mutex mutex_;
    std::vector<CompletionQueue*> queues_ GUARDED_BY(mutex_);
    /// Queue of the last event. The search for the next one starts behind it, so that no queue
    /// starves another.
    std::size_t turn_ GUARDED_BY(mutex_) = 0;
    /// Tokens that may have no event: put by stay_readable(), or of a queue that was destroyed.
    /// Peers cannot raise it.
    std::uint64_t unmatched_tokens_ GUARDED_BY(mutex_) = 0;
};

class CompletionQueue : public ExtendableCq {
  public:
    static CompletionQueue& of(ibv_cq* cq) { return *static_cast<CompletionQueue*>(cq); }
    /// @return nullptr with errno.
    /// @param is_stamped whether completions have timestamps.
    static CompletionQueue* create(Context& context, int entries, void* cq_context,
                                   ibv_comp_channel* channel, bool is_stamped = false);
    /// @return 0; EBUSY while queue pairs use it; ENOENT when the program has changed its handle.
    static int destroy(CompletionQueue* cq);

    /// Changes the size while producers are at work. Waiting completions are kept, in order, and so
    /// is a request for an event.
    /// @return 0 or an errno: EINVAL when more completions of either kind wait than would fit;
    /// EBUSY when a producer has stopped in the middle of a completion. In that case the size
    /// changes once the producer has finished or died, and a later call waits for that again.
    int resize(int entries) EXCLUDES(lock_);
    int poll(int count, ibv_wc* wc) EXCLUDES(lock_);
    /// Polls one completion into `polled`, and its timestamp into `polled_stamp`.
    /// @return how many there were.
    int poll_stamped() EXCLUDES(lock_);
    /// Requests exactly one event. It is raised at once if the queue already holds a matching
    /// completion, unless moderation holds it.
    int arm(bool solicited_only) EXCLUDES(lock_, sends_.lock);
    /// Sets the limits up to which the event of a request for any completion is held. A request
    /// that stands follows them from now on.
    void moderate(Moderation limits) EXCLUDES(lock_, sends_.lock);
    /// Adds a completion made by the owner: of a send, or of a flushed receive. An overrun is
    /// reported.
    void post(const SendCompletion& completion) EXCLUDES(sends_.lock) {
        bool is_put = false;
        Wake wake = Wake::kNone;
        {
            support::SpinLockGuard lock(sends_.lock);
            is_put = sends_.put(completion);
            if (is_put) wake = take_arming(*header_, completion.status != IBV_WC_SUCCESS);
        }
        if (!is_put || wake != Wake::kNone) [[unlikely]]
            tell(is_put, wake);
    }
    void post(const Completion& completion) EXCLUDES(lock_);
    /// Makes the service thread report an overrun, as after a completion that does not fit.
    void note_overrun();
    /// Serves a kick: wakes the channel for producers that could not, places payloads, and reports
    /// an overrun, which fails the queue's queue pairs. Called by the service thread.
    void serve_kick() REQUIRES(adapter().mutex);
    /// Starts or ends the period for which moderation holds an event. Called by the service thread.
    void watch_period() REQUIRES(adapter().mutex);
    /// Wakes the channel after a producer has died, for completions of which it may not have
    /// notified the consumer.
    void repeat_wake() REQUIRES(adapter().mutex) EXCLUDES(lock_, sends_.lock);

    /// Voids what the requester of a queue pair claimed and did not publish; the requester is no
    /// longer at work.
    /// @return number of the queue pair's receive completions that wait in the queue.
    /// @param inspect called with the queue's lock held, while nobody polls.
    /// @param completes called likewise for each of them.
    std::uint32_t settle_receives(
        std::uint32_t qp_num, const std::function<void()>& inspect = [] {},
        const std::function<void(const CqEntry&)>& completes = [](const CqEntry&) {})
        EXCLUDES(lock_);
    /// Removes every completion of a queue pair that is being reset or destroyed.
    void purge(const QueuePair& qp) EXCLUDES(lock_);
    /// Removes every completion of an XRC shared receive queue that is being destroyed.
    /// @param srq its index.
    void purge_xrc(std::uint32_t srq) EXCLUDES(lock_);
    /// Copies payloads of completions that have not been polled to the posted buffers.
    void place_payloads() EXCLUDES(lock_);
    /// Waits for a thread that is polling, if any: it may be placing a payload.
    void pass_pollers() EXCLUDES(lock_) {
        if (!lock_.is_held()) return;
        const support::SpinLockGuard guard(lock_);
    }

    bool take_event();  ///< consumes one completion event, if there is one
    std::uint64_t waiting_events() const;
    void give_event_early() { ++early_events_; }  ///< the program will acknowledge one more
    void acknowledge(unsigned events);

    std::uint32_t index() const { return index_; }
    Adapter& adapter() const { return *Context::of(context).adapter; }
    CompletionChannel* completion_channel() const {
        return static_cast<CompletionChannel*>(channel);
    }
    std::atomic<int> users{0};
    /// The parent domain with which it was made, which it uses; nullptr: none.
    ProtectionDomain* parent_domain = nullptr;

    // -- extended_completion.cpp
    ibv_wc polled{};  ///< of start_poll and next_poll; belongs to the thread that polls
    std::uint64_t polled_stamp = 0;  ///< its timestamp
    support::Mutex poll_mutex;       ///< held from start_poll to end_poll; the outermost lock

  private:
    /// Receive completions from a ring that has been replaced, oldest first.
    struct Backlog {
        std::unique_ptr<CqEntry[]> entries;  ///< neither allocated nor freed with lock_ held
        std::uint32_t head = 0;
        std::uint32_t size = 0;

        std::uint32_t left() const { return size - head; }
    };

    /// Tells of a completion that has a consequence, or of one that found no room.
    void tell(bool is_put, Wake wake);
    void wake(Wake wake);
    void call_service();  ///< the service thread calls serve_kick()
    int allocate(std::uint32_t size, std::uint32_t channel_id, bool is_stamped);
    void withdraw();
    void request_event(Arm mode);
    Wake take_request() REQUIRES(lock_, sends_.lock);
    Wake take_request_for_sends() REQUIRES(lock_, sends_.lock);

    // -- completion_moderation.cpp
    /// The time for which an event is held.
    struct Period {
        /// Sum of the events and of period_serial_ at its beginning: both only grow.
        std::uint64_t serial = ~std::uint64_t{0};
        Deadline end;
    };
    Wake take_request_again() REQUIRES(lock_, sends_.lock);
    Arm arm_for_any() const;
    bool replace_request(Arm mode);
    bool end_hold();

    // -- completion_poll.cpp, with poll()
    void report_overrun() REQUIRES(adapter().mutex);
    template <bool kStamped>
    int poll_as(int count, ibv_wc* wc) EXCLUDES(lock_);
    template <bool kStamped>
    int take(int count, ibv_wc* wc) REQUIRES(lock_);
    template <bool kStamped>
    int take_sends(int count, ibv_wc* wc) REQUIRES(lock_);
    template <bool kStamped>
    int take_receives(int count, ibv_wc* wc) REQUIRES(lock_);
    template <bool kStamped>
    int take_backlog(int count, ibv_wc* wc) REQUIRES(lock_);
    bool convert(const CqEntry& entry, ibv_wc& wc) REQUIRES(lock_);
    bool convert_xrc(const CqEntry& entry, ibv_wc& wc) REQUIRES(lock_);
    int deliver(const CqEntry& entry) const;  // with lock_ held
    void report_failed_receives(const ibv_wc* wc, int count) const;

    // -- completion_queue_resize.cpp
    /// Calls visit(entry, Standing) for all entries that are claimed, ready or void, oldest first.
    template <class Visit>
    void each_entry(Visit visit) REQUIRES(lock_);
    Result<RingPlace> make_ring(std::uint32_t size);
    void release_ring(RingPlace place);
    bool fits(std::uint32_t size) REQUIRES(lock_);
    Wake take_request_for_receives() REQUIRES(lock_);
    /// The memory of a resize: allocated before any lock is taken, exchanged for the previous
    /// memory, which is freed when no lock is held.
    struct ResizeMemory {
        Backlog backlog;
        SendCompletions::Storage storage;
    };
    /// A replacement of the ring, until the old ring's producers have finished.
    struct Replacement {
        std::uint32_t size = 0;  ///< 0: none
        RingPlace before;
        ResizeMemory memory;
    };
    int begin_replacement(std::uint32_t size) REQUIRES(resize_mutex_);
    int finish_replacement(Deadline deadline, ResizeMemory& replaced) REQUIRES(resize_mutex_);
    /// Makes the service thread continue a resize that returned EBUSY.
    static void finish_later(Adapter& adapter, std::uint32_t index);
    /// Continues a replacement, with the adapter's mutex held. @return whether nothing is left to
    /// be done.
    bool resume_replacement(ResizeMemory& replaced) EXCLUDES(lock_, resize_mutex_);
    void change_over(Backlog& backlog) EXCLUDES(lock_, sends_.lock);

    CqHeader* header_ = nullptr;
    std::uint32_t index_ = 0;
    support::SpinLock lock_;  ///< held by whoever takes completions out
    SendCompletions sends_;
    unsigned polls_for_sends_ GUARDED_BY(lock_) = 0;  ///< in a row, without a check of the ring
    RingPlace place_ GUARDED_BY(lock_);
    CompletionRing ring_ GUARDED_BY(lock_);
    std::uint64_t head_ GUARDED_BY(lock_) = 0;
    Backlog backlog_ GUARDED_BY(lock_);
    /// While the ring is being replaced: the new one, in which producers that begin now put
    /// completions.
    CompletionRing next_ GUARDED_BY(lock_);
    support::PollPatience patience_ GUARDED_BY(lock_);
    std::atomic<std::uint64_t> events_taken_{0};
    /// Number of events that the program got without any having been raised.
    std::atomic<std::uint64_t> early_events_{0};
    /// Number of times that the queue has been armed: no more events can have been raised.
    std::atomic<std::uint64_t> armed_{0};
    /// Set with lock_ and sends_.lock held. Peers may have changed CqHeader's copy.
    std::atomic<std::uint32_t> moderation_{0};
    /// Counts the requests before which nothing was held, so that each has a period of its own.
    std::atomic<std::uint64_t> period_serial_{0};
    Period period_;  ///< belongs to whoever holds the adapter's mutex
    bool overrun_told_ = false;
    /// A failed receive has been taken: its queue pair has to be moved to the error state.
    bool receive_failed_ GUARDED_BY(lock_) = false;
    support::Mutex resize_mutex_;  ///< held while a resize runs; the outermost lock
    Replacement replacement_ GUARDED_BY(resize_mutex_);
};

}  // namespace softverbs
