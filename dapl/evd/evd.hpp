// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Event dispatcher. An EVD for transfer completions is a verbs completion queue, polled in
/// batches; completions become events when they are dequeued. All other events (software,
/// connection, request, async) go through a ring beside it.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <memory>

#include "dapl/base/codes.hpp"
#include "dapl/base/counters.hpp"
#include "dapl/base/deadline.hpp"
#include "dapl/base/list.hpp"
#include "dapl/base/object.hpp"
#include "dapl/evd/cno.hpp"
#include "dapl/evd/event_ring.hpp"
#include "dapl/evd/held_completions.hpp"
#include "dapl/evd/shared_channel.hpp"
#include "dapl/transfer/side.hpp"
#include "dapl/verbs/handles.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class Ep;
class Ia;
class Pool;
class Srq;

/// The EPs of the plain completions that an EVD dequeued last: nearly always the next one is theirs
/// too. They may have been freed: slots of the pool stay, and is_current() checks them.
struct LastEps {
    Ep* requester = nullptr;
    Ep* receiver = nullptr;
};

class Evd final : public Object<Evd>, public ListNode<Evd> {
  public:
    static constexpr Kind kKind = Kind::kEvd;
    /// For make_evd(), which checks. @param queue, channel both empty unless the flags include
    /// completions. Throws std::bad_alloc.
    Evd(Ia& owner, DAT_EVD_FLAGS streams, DAT_COUNT length, std::shared_ptr<SharedChannel> channel,
        verbs::CompletionQueue queue);

    // For the core and the connection manager. Thread safe; connection_lock may be held. None
    // blocks, except that await_flush() sleeps.
    /// Allocates the ring for the first events, so that none of them is lost for lack of memory.
    bool reserve_events() EXCLUDES(lock_) { return grow_ring(); }
    /// Queues an event (evd_handle is filled in when it is dequeued), wakes the waiter, triggers
    /// the CNO. If the ring is full and cannot grow, drops the event and posts an async event that
    /// names this EVD; an async EVD itself is dead from then on.
    /// @return whether the event was queued.
    bool post_event(const DAT_EVENT& event) EXCLUDES(lock_);
    /// Turns the completions held for one side of an EP into events that do not need the EP any
    /// more. Drops what the device reports for the side later.
    void retire(Side& side) EXCLUDES(lock_);
    /// Waits while the device flushes this side of an EP, whose slots are stopped. Returns when the
    /// completion of the last transfer has come, or when the device has reported nothing for so
    /// long that no more is expected.
    void await_flush(const Side& side) EXCLUDES(lock_);
    /// Called after await_flush(), with the lock of the side held: flushes the transfers that the
    /// device has not reported, and drops what it reports later.
    void end_flush(Side& side) EXCLUDES(lock_);
    /// Posts to a side that is stopped and not full, and flushes the transfer: at once if the
    /// device has flushed what came before, else in end_flush().
    /// @param use nullptr without a decorator. @return the EVD whose
    /// tell_flushed() to call when the lock is released, or nullptr.
    static Evd* post_flushed(Side& side, DAT_DTO_COOKIE cookie, DAT_SEG_LENGTH length,
                             std::uint32_t operation, TransferUse* use = nullptr)
        REQUIRES(side.lock);
    /// Announces what has been flushed. Called after end_flush() or post_flushed(), with the lock
    /// of the side released.
    void tell_flushed() EXCLUDES(lock_);
    /// Polls the device, so that completed markers are reported to their EPs.
    void poll_for_marker() EXCLUDES(lock_);
    /// Handles a notification of the completion queue. @param reader the EVD whose waiter reads the
    /// channel and needs no waking; nullptr if another thread reads it.
    void announced(const Evd* reader) EXCLUDES(lock_);
    /// @return number of receives of an SRQ that have completed and wait here to be dequeued.
    DAT_COUNT count_receives(const Srq& srq) EXCLUDES(lock_);
    /// The same for the receives of an EP. @param span out: length of the range from the oldest to
    /// the newest of them, in posting order.
    DAT_COUNT count_receives(const Side& receives, DAT_COUNT& span) EXCLUDES(lock_);
    /// @return number of an EP's requests that have been flushed, dequeued or not.
    DAT_COUNT count_flushed(const Side& requests) EXCLUDES(lock_);
    /// For tests: see HeldCompletions::work().
    std::uint64_t work_on_completions() EXCLUDES(lock_);
    /// From now on each dequeue or wait polls everything that the device has: an EP with watermarks
    /// receives here.
    void count_always() EXCLUDES(lock_);
    bool takes(unsigned streams) const { return (flags & streams) != 0; }
    ibv_cq* completion_queue() const { return queue_.get(); }

    // For the entry functions.
    /// Defined in dequeue.hpp, for the functions that inline it.
    /// @param take_plain bool(const Pool& eps, LastEps&, const ibv_wc&, DAT_EVENT&): for a plain
    /// completion writes the event, all but evd_handle, frees the slot and returns true; for any
    /// other does nothing and returns false.
    template <class TakePlain>
    DAT_RETURN dequeue(DAT_EVENT* event, const TakePlain& take_plain) EXCLUDES(lock_);
    /// Takes the handle itself: while the data path is traced, this is called before all checks.
    [[gnu::noinline, gnu::cold]] static DAT_RETURN dequeue_traced(DAT_EVD_HANDLE handle,
                                                                  DAT_EVENT* event);
    /// Waits for a number of events. @param timeout microseconds. @param old_cancel_state for
    /// CancellationWindow. May unwind.
    DAT_RETURN wait(DAT_TIMEOUT timeout, DAT_COUNT threshold, int old_cancel_state,
                    DAT_EVENT* event, DAT_COUNT* more) EXCLUDES(lock_);
    DAT_RETURN post_software_event(DAT_PVOID pointer) EXCLUDES(lock_);
    DAT_RETURN modify_cno(Cno* cno) EXCLUDES(control_, lock_);
    DAT_RETURN set_enabled(bool enabled) EXCLUDES(control_, lock_);
    void set_waitable(bool waitable) EXCLUDES(lock_);
    DAT_RETURN resize(DAT_COUNT length) EXCLUDES(control_, lock_);
    void query(DAT_EVD_PARAM& parameters) EXCLUDES(lock_);
    /// Lock-free snapshot; safe while other threads use the EVD.
    struct Look {
        DAT_COUNT length;   ///< as dat_evd_query reports it
        DAT_COUNT pending;  ///< events and completions held here; not those in the device
        bool waited_on;     ///< a thread is in dat_evd_wait
        bool lost_events;   ///< an async EVD that has lost events and takes no more
        const Cno* cno;     ///< to compare with existing CNOs, never to dereference
    };
    Look look() const;
    /// Ends the wait and detaches the CNO. Returns when no thread waits any more.
    void shut_down() EXCLUDES(control_, lock_);

    /// @return the CNO to trigger for an event, pinned, or nullptr.
    Cno* pin_cno() EXCLUDES(lock_);

    /// Its place in its CNO's queue of triggered EVDs; guarded by the CNO's mutex.
    struct Trigger {
        Evd* next = nullptr;
        bool waits = false;
    };
    Trigger trigger;
    Ia& ia;
    const DAT_EVD_FLAGS flags;
    /// Number of EPs, service points and adapter instances that deliver here. The EVD is freed
    /// after them.
    std::atomic<int> users{0};
    EvdCounters counters;

  private:
    class Waiting;
    enum class Woken { kByEvent, kByTimeout, kBySignal, kByFailure };

    /// Number of events and completions that wait here to be dequeued.
    DAT_COUNT pending() const REQUIRES(lock_) { return ring_.count() + held_.count(); }
    /// Reasons why dequeue() cannot simply poll the device for one completion; bits of detour_.
    enum Detour : unsigned {
        kNoQueue = 1,   ///< there is no completion queue
        kPending = 2,   ///< events or completions wait here already
        kWaiter = 4,    ///< a waiter gets the events
        kDead = 8,      ///< an async EVD that has lost events
        kCountAll = 16  ///< an EP with watermarks receives here: polls everything each time
    };
    unsigned detours() const { return detour_.load(std::memory_order_acquire); }
    bool has(unsigned wanted) const REQUIRES(lock_) { return (detours() & wanted) != 0; }
    void set(unsigned changed, bool on) REQUIRES(lock_) {
        detour_.store(on ? detours() | changed : detours() & ~changed, std::memory_order_release);
    }
    /// Called after every change of the ring or of the held completions.
    void note_pending() REQUIRES(lock_) {
        const DAT_COUNT count = pending();
        seen_pending_.store(count, std::memory_order_relaxed);
        set(kPending, count > 0);
    }
    void keep_polled() REQUIRES(lock_);
    DAT_RETURN dequeue_slowly(DAT_EVENT& event) EXCLUDES(lock_);
    // The slow paths of dequeue(). They take the handle, which it has in a register.
    /// Called with lock_ held.
    [[gnu::noinline, gnu::cold]] static void keep_polled(DAT_EVD_HANDLE handle)
        NO_THREAD_SAFETY_ANALYSIS;
    [[gnu::noinline, gnu::cold]] static DAT_RETURN dequeue_slowly(DAT_EVD_HANDLE handle,
                                                                  DAT_EVENT& event);
    void flush(std::uint64_t wr_id) EXCLUDES(lock_);
    bool retire_held(Side& side) REQUIRES(lock_);
    /// @return the first sequence of a stopped side that the device has not reported yet.
    std::uint32_t first_unreported(const Side& side) REQUIRES(lock_);
    void hold_flushed(std::uint64_t wr_id) REQUIRES(lock_);
    void hold_unreported(const Side& side) REQUIRES(lock_);
    bool poll_device() REQUIRES(lock_);
    void drain_device() REQUIRES(lock_);
    FailedTransfer take_completion(const ibv_wc& completion, DAT_EVENT& event) REQUIRES(lock_);
    FailedTransfer take(DAT_EVENT& event) REQUIRES(lock_);
    bool arm() REQUIRES(lock_);
    void arm_for_cno() REQUIRES(lock_);
    bool reaches(DAT_COUNT threshold) REQUIRES(lock_);
    DAT_RETURN check_wait(DAT_COUNT threshold) REQUIRES(lock_);
    bool grow_ring() EXCLUDES(lock_);
    bool push(const DAT_EVENT& event, Cno** triggered) EXCLUDES(lock_);
    Cno* pinned_cno() REQUIRES(lock_);
    DAT_RETURN wait_for(DAT_COUNT threshold, const Deadline& deadline, Waiting& waiting,
                        DAT_EVENT* event, DAT_COUNT* more, FailedTransfer* failed) EXCLUDES(lock_);
    DAT_RETURN not_in_time(Woken woken) REQUIRES(lock_);
    void wake() EXCLUDES(lock_);
    void set_cno(Cno* cno) REQUIRES(control_) EXCLUDES(lock_);
    void settle_announcements() REQUIRES(control_) EXCLUDES(lock_);
    /// Has the service thread read the channel while a CNO is to be triggered, and only then.
    /// @return false when the system refuses.
    bool update_watch() REQUIRES(control_) EXCLUDES(lock_);

    support::Mutex control_;  ///< serialises the calls that change the CNO, the watch or the size
    support::SpinLock lock_;
    std::atomic<unsigned> detour_;  ///< changed with lock_ held
    EventRing ring_ GUARDED_BY(lock_);
    ibv_wc polled_ GUARDED_BY(lock_);  ///< used by dequeue() alone
    LastEps last_eps_ GUARDED_BY(lock_);
    HeldCompletions held_ GUARDED_BY(lock_);  ///< up to the size of the completion queue
    // Changed with lock_ held; only look() reads them without it:
    std::atomic<DAT_COUNT> length_;  ///< as dat_evd_query reports it
    std::atomic<Cno*> cno_{nullptr};
    std::atomic<DAT_COUNT> seen_pending_{0};
    bool unheard_ GUARDED_BY(lock_) = false;  ///< an event had no CNO to trigger; see set_cno()
    bool armed_ GUARDED_BY(lock_) = false;
    std::atomic<bool> lost_flush_{false};  ///< a flushed completion could not be held
    bool enabled_ GUARDED_BY(lock_) = true;
    bool waitable_ GUARDED_BY(lock_) = true;
    bool shut_down_ GUARDED_BY(lock_) = false;
    bool may_sleep_ GUARDED_BY(lock_) = false;    ///< the waiter; it must be woken
    int wake_descriptor_ GUARDED_BY(lock_) = -1;  ///< ends its sleep
    /// Ends its sleep if there is no channel. Who wakes may come late: the storage of EVDs stays.
    sem_t wake_semaphore_;
    bool watched_ GUARDED_BY(control_) = false;  ///< counts as a watcher of the channel
    const Pool& eps_;                            ///< the pool of EPs of this process
    const std::shared_ptr<SharedChannel> channel_;
    verbs::CompletionQueue queue_;  ///< last: destroyed first, waits for readers that use the EVD
};

/// Makes an EVD once all checks of dat_evd_create are done; also makes the async EVD, which
/// dat_evd_create itself refuses.
support::Result<Evd*> make_evd(Ia& ia, DAT_COUNT length, Cno* cno, DAT_EVD_FLAGS flags);
/// Destroys an EVD: ends its wait and detaches its CNO. Its users must be gone.
void destroy_evd(Evd& evd);

}  // namespace dapl
