// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Event dispatcher. One that takes transfer completions is a verbs completion queue, polled in
/// batches and converted on the way out; every other event (software, connection, request, async)
/// goes through a ring beside it.
#pragma once

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

/// The EPs whose plain completions an EVD gave last: nearly always the next one is of them too.
/// They may have ended; slots of the pool stay, and is_current() tells.
struct LastEps {
    Ep* requester = nullptr;
    Ep* receiver = nullptr;
};

class Evd final : public Object<Evd>, public ListNode<Evd> {
  public:
    static constexpr Kind kKind = Kind::kEvd;
    /// For make_evd(), which checks. @param queue, channel both empty unless the flags want
    /// completions. Throws std::bad_alloc.
    Evd(Ia& owner, DAT_EVD_FLAGS streams, DAT_COUNT length, std::shared_ptr<SharedChannel> channel,
        verbs::CompletionQueue queue);

    // For the core and the connection manager. Thread safe, never blocks; connection_lock may be
    // held.
    /// Makes room for the first events, so that none of them is lost for want of memory.
    bool reserve_events() EXCLUDES(lock_) { return grow_ring(); }
    /// Queues an event (evd_handle is filled in here), wakes the waiter, triggers the CNO. What
    /// finds no room is dropped and reported as an async event that names this EVD.
    /// @return whether it found room.
    bool post_event(const DAT_EVENT& event) EXCLUDES(lock_);
    /// Turns the completions that wait here for one side of an EP into events that need the EP no
    /// more; what the device reports for it later is dropped.
    void retire(Side& side) EXCLUDES(lock_);
    /// The device flushes this side of an EP, whose slots are stopped: returns when the completion
    /// of the last transfer has come, or it is plain that there is none to come.
    void await_flush(const Side& side) EXCLUDES(lock_);
    /// After that, with the lock of the side held: what the device has said nothing of is flushed
    /// here, and what it says later is dropped.
    void end_flush(Side& side) EXCLUDES(lock_);
    /// Posts to a side that is stopped and not full, to be flushed here: at once, or when the
    /// device has flushed what came before. @return the EVD to tell_flushed() when the lock is
    /// dropped, or nullptr.
    static Evd* post_flushed(Side& side, DAT_DTO_COOKIE cookie, DAT_SEG_LENGTH length,
                             std::uint32_t operation) REQUIRES(side.lock);
    /// For after each of the two, with the lock of the side dropped.
    void tell_flushed() EXCLUDES(lock_);
    /// Looks what the device has done, so that the EPs hear of their markers.
    void poll_for_marker() EXCLUDES(lock_);
    /// The completion queue has announced a completion. @param reader the EVD whose waiter reads
    /// the channel: it needs no waking. nullptr: another thread.
    void announced(const Evd* reader) EXCLUDES(lock_);
    /// @return receives of an SRQ that are complete and wait here to be taken.
    DAT_COUNT count_receives(const Srq& srq) EXCLUDES(lock_);
    /// The same of an EP. @param span out: from the oldest to the newest of them, in the order in
    /// which they were posted.
    DAT_COUNT count_receives(const Side& receives, DAT_COUNT& span) EXCLUDES(lock_);
    /// How many requests of an EP have come back flushed.
    DAT_COUNT count_flushed(const Side& requests) EXCLUDES(lock_);
    /// For tests: see HeldCompletions::work().
    std::uint64_t work_on_completions() EXCLUDES(lock_);
    /// From now on each look at this EVD counts all that the device has: an EP with watermarks
    /// receives here.
    void count_always() EXCLUDES(lock_);
    bool takes(unsigned streams) const { return (flags & streams) != 0; }
    ibv_cq* completion_queue() const { return queue_.get(); }

    // For the entry functions.
    /// In dequeue.hpp, for the functions that are made of it.
    /// @param take_plain bool(const Pool& eps, LastEps&, const ibv_wc&, DAT_EVENT&): writes the
    /// event of one of the completions that there are most of, all but evd_handle, and frees its
    /// slot; false, and nothing is done, for all others.
    template <class TakePlain>
    DAT_RETURN dequeue(DAT_EVENT* event, const TakePlain& take_plain) EXCLUDES(lock_);
    /// Takes the handle itself: while the data path is traced it comes before all else.
    [[gnu::noinline, gnu::cold]] static DAT_RETURN dequeue_traced(DAT_EVD_HANDLE handle,
                                                                  DAT_EVENT* event);
    /// @param timeout microseconds. @param old_cancel_state for CancellationWindow. May unwind.
    DAT_RETURN wait(DAT_TIMEOUT timeout, DAT_COUNT threshold, int old_cancel_state,
                    DAT_EVENT* event, DAT_COUNT* more) EXCLUDES(lock_);
    DAT_RETURN post_software_event(DAT_PVOID pointer) EXCLUDES(lock_);
    DAT_RETURN modify_cno(Cno* cno) EXCLUDES(control_, lock_);
    DAT_RETURN set_enabled(bool enabled) EXCLUDES(control_, lock_);
    void set_waitable(bool waitable) EXCLUDES(lock_);
    DAT_RETURN resize(DAT_COUNT length) EXCLUDES(control_, lock_);
    void query(DAT_EVD_PARAM& parameters) EXCLUDES(lock_);
    /// What is seen from outside without a lock: nobody who works with the EVD waits.
    struct Look {
        DAT_COUNT length;   ///< as dat_evd_query gives it
        DAT_COUNT pending;  ///< events and completions that wait here; not those in the device
        bool waited_on;     ///< a thread is in dat_evd_wait
        bool lost_events;   ///< an async EVD that takes none any more
        const Cno* cno;     ///< to compare with those that there are, never to follow
    };
    Look look() const;
    /// Sends the waiter away and returns when nobody waits and no CNO is attached any more.
    void shut_down() EXCLUDES(control_, lock_);

    /// The CNO that hears of an event that has come, if any: pinned.
    Cno* pin_cno() EXCLUDES(lock_);

    /// Its place among the EVDs that have triggered its CNO; guarded by the CNO's mutex.
    struct Trigger {
        Evd* next = nullptr;
        bool waits = false;
    };
    Trigger trigger;
    Ia& ia;
    const DAT_EVD_FLAGS flags;
    /// EPs, service points and adapter instances that deliver here; not freed before they are.
    std::atomic<int> users{0};
    EvdCounters counters;

  private:
    class Waiting;
    enum class Woken { kByEvent, kByTimeout, kBySignal, kByFailure };

    /// Events and completions that wait here to be taken.
    DAT_COUNT pending() const REQUIRES(lock_) { return ring_.count() + held_.count(); }
    /// Why dequeue() cannot just ask the device for one completion; bits of detour_.
    enum Detour : unsigned {
        kNoQueue = 1,   ///< there is no device to ask
        kPending = 2,   ///< something was taken from it before, or never came from there
        kWaiter = 4,    ///< who waits gets the events
        kDead = 8,      ///< an async EVD that has lost events
        kCountAll = 16  ///< an EP with watermarks receives here: each look takes all there is
    };
    unsigned detours() const { return detour_.load(std::memory_order_acquire); }
    bool has(unsigned wanted) const REQUIRES(lock_) { return (detours() & wanted) != 0; }
    void set(unsigned changed, bool on) REQUIRES(lock_) {
        detour_.store(on ? detours() | changed : detours() & ~changed, std::memory_order_release);
    }
    /// After every change of the ring and of what is held.
    void note_pending() REQUIRES(lock_) {
        const DAT_COUNT count = pending();
        seen_pending_.store(count, std::memory_order_relaxed);
        set(kPending, count > 0);
    }
    void keep_polled() REQUIRES(lock_);
    DAT_RETURN dequeue_slowly(DAT_EVENT& event) EXCLUDES(lock_);
    // Where dequeue() goes when it finds more to do; by the handle, which it has in a register.
    /// The lock is held.
    [[gnu::noinline, gnu::cold]] static void keep_polled(DAT_EVD_HANDLE handle)
        NO_THREAD_SAFETY_ANALYSIS;
    [[gnu::noinline, gnu::cold]] static DAT_RETURN dequeue_slowly(DAT_EVD_HANDLE handle,
                                                                  DAT_EVENT& event);
    void flush(std::uint64_t wr_id) EXCLUDES(lock_);
    bool retire_held(Side& side) REQUIRES(lock_);
    /// @return the first sequence of a stopped side of which the device has said nothing yet.
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
    /// Lets the service thread read the channel while a CNO wants to know, and only then.
    bool update_watch() REQUIRES(control_) EXCLUDES(lock_);

    support::Mutex control_;  ///< serialises the calls that change the CNO, the watch or the size
    support::SpinLock lock_;
    std::atomic<unsigned> detour_;  ///< changed with lock_ held
    EventRing ring_ GUARDED_BY(lock_);
    ibv_wc polled_ GUARDED_BY(lock_);  ///< dequeue()'s alone
    LastEps last_eps_ GUARDED_BY(lock_);
    HeldCompletions held_ GUARDED_BY(lock_);  ///< as many as the device can hold
    // Changed with lock_ held; read without it by look() alone:
    std::atomic<DAT_COUNT> length_;  ///< as dat_evd_query gives it
    std::atomic<Cno*> cno_{nullptr};
    std::atomic<DAT_COUNT> seen_pending_{0};
    bool unheard_ GUARDED_BY(lock_) = false;  ///< an event had no CNO to trigger; see set_cno()
    bool armed_ GUARDED_BY(lock_) = false;
    std::atomic<bool> lost_flush_{false};  ///< a flush found no room
    bool enabled_ GUARDED_BY(lock_) = true;
    bool waitable_ GUARDED_BY(lock_) = true;
    bool shut_down_ GUARDED_BY(lock_) = false;
    int wake_descriptor_ GUARDED_BY(lock_) = -1;  ///< ends the waiter's sleep, while it may sleep
    bool watched_ GUARDED_BY(control_) = false;   ///< this EVD's CNO wants the channel watched
    const Pool& eps_;                             ///< of this process
    const std::shared_ptr<SharedChannel> channel_;
    verbs::CompletionQueue queue_;  ///< last: goes first, and waits for who still knows the EVD
};

/// Makes an EVD of an adapter instance after all checks of dat_evd_create; also for the async EVD,
/// which dat_evd_create itself refuses.
support::Result<Evd*> make_evd(Ia& ia, DAT_COUNT length, Cno* cno, DAT_EVD_FLAGS flags);
/// Ends it: waiter expelled, CNO detached. Its users must be gone.
void destroy_evd(Evd& evd);

}  // namespace dapl
