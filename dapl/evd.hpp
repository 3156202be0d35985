// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Event dispatcher. One that takes transfer completions is a verbs completion queue, polled in
/// batches and converted on the way out; every other event (software, connection, request, async)
/// goes through a ring beside it.
#pragma once

#include <atomic>
#include <memory>

#include "dapl/codes.hpp"
#include "dapl/event_ring.hpp"
#include "dapl/list.hpp"
#include "dapl/object.hpp"
#include "dapl/support/mutex.hpp"
#include "dapl/verbs/handles.hpp"

namespace dapl {

class Cno;
class Ep;
class Ia;

class Evd : public Object<Evd>, public ListNode<Evd> {
  public:
    static constexpr Kind kKind = Kind::kEvd;
    /// Not yet checked against the merging table or the adapter: make_evd() does.
    /// @param queue, channel both empty unless the flags want completions.
    Evd(Ia& owner, DAT_EVD_FLAGS flags, DAT_COUNT length, verbs::CompletionChannel channel,
        verbs::CompletionQueue queue);
    ~Evd();

    // What the core and the connection manager call. Thread safe, never blocks; connection_lock may
    // be held.
    /// Queues an event (evd_handle is filled in here), wakes the waiter, triggers the CNO. What
    /// finds no room is dropped and reported as an async event that names this EVD.
    void post_event(const DAT_EVENT& event) EXCLUDES(lock_);
    /// The device has lost completions, or the async EVD events: nothing can be taken any more.
    void mark_dead() EXCLUDES(lock_);
    /// Something may have arrived in the completion channel of an EVD with a CNO. Service thread.
    void serve_channel() EXCLUDES(lock_);
    /// Turns the completions that wait here for one side of an EP into events that need the EP no
    /// more; what the device reports for it later is dropped.
    void retire(Ep& ep, bool receives) EXCLUDES(lock_);

    // What the entry functions call.
    DAT_RETURN dequeue(DAT_EVENT* event) EXCLUDES(lock_);
    /// @param timeout microseconds. @param old_cancel_state the caller's; cancellation is disabled
    /// but for the system call that waits. May unwind (cancellation) from there.
    DAT_RETURN wait(DAT_TIMEOUT timeout, DAT_COUNT threshold, int old_cancel_state,
                    DAT_EVENT* event, DAT_COUNT* more) EXCLUDES(lock_);
    DAT_RETURN post_software_event(DAT_PVOID pointer) EXCLUDES(lock_);
    DAT_RETURN modify_cno(Cno* cno) EXCLUDES(lock_);
    DAT_RETURN set_enabled(bool enabled) EXCLUDES(lock_);
    DAT_RETURN set_waitable(bool waitable) EXCLUDES(lock_);
    DAT_RETURN resize(DAT_COUNT length) EXCLUDES(lock_);
    void query(DAT_EVD_PARAM& parameters) EXCLUDES(lock_);
    /// Sends the waiter away and returns when it has left.
    void expel_waiter() EXCLUDES(lock_);

    bool takes(DAT_EVD_FLAGS stream) const { return (flags & stream) != 0; }
    ibv_cq* completion_queue() const { return queue_.get(); }

    Ia& ia;
    const DAT_EVD_FLAGS flags;
    /// EPs, service points and adapter instances that deliver here; not freed before they are.
    std::atomic<int> users{0};

  private:
    class Waiting;
    enum class Blocked { kWoken, kTimedOut, kInterrupted, kFailed };

    bool pending_reaches(DAT_COUNT threshold) REQUIRES(lock_);
    DAT_COUNT pending() const REQUIRES(lock_);
    int poll_device() REQUIRES(lock_);
    void drain_device() REQUIRES(lock_);
    bool take(DAT_EVENT& event, Ep** failed) REQUIRES(lock_);
    bool take_completion(const ibv_wc& completion, DAT_EVENT& event, Ep** failed) REQUIRES(lock_);
    bool arm() REQUIRES(lock_);
    void consume_notification() REQUIRES(lock_);
    DAT_RETURN check_wait(DAT_COUNT threshold) REQUIRES(lock_);
    Blocked block(const timespec* deadline, int old_cancel_state) EXCLUDES(lock_);
    void wake() EXCLUDES(lock_);
    void watch_channel(bool watched) EXCLUDES(lock_);
    DAT_RETURN empty_code() const;
    DAT_RETURN timeout_code() const REQUIRES(lock_);

    support::SpinLock lock_;
    EventRing ring_ GUARDED_BY(lock_);
    /// Completions polled and not yet taken: room for all that the device can hold.
    std::unique_ptr<ibv_wc[]> held_ GUARDED_BY(lock_);
    int held_first_ GUARDED_BY(lock_) = 0;
    int held_end_ GUARDED_BY(lock_) = 0;
    int held_capacity_ GUARDED_BY(lock_) = 0;
    DAT_COUNT length_ GUARDED_BY(lock_);  ///< as dat_evd_query gives it
    bool armed_ GUARDED_BY(lock_) = false;
    bool enabled_ GUARDED_BY(lock_) = true;
    bool waitable_ GUARDED_BY(lock_) = true;
    bool expelled_ GUARDED_BY(lock_) = false;
    bool dead_ GUARDED_BY(lock_) = false;
    bool waiter_ GUARDED_BY(lock_) = false;
    Cno* cno_ GUARDED_BY(lock_) = nullptr;
    bool watched_ = false;  ///< the service thread reads the channel; guarded by the IA's mutex
    int wake_fd_ = -1;      ///< eventfd that ends a waiter's sleep
    verbs::CompletionChannel channel_;
    verbs::CompletionQueue queue_;  ///< after the channel: goes first
};

/// Makes an EVD of an adapter instance after all checks of dat_evd_create; also for the async EVD,
/// which dat_evd_create itself refuses.
support::Result<Evd*> make_evd(Ia& ia, DAT_COUNT length, Cno* cno, DAT_EVD_FLAGS flags);
/// Ends it: waiter expelled, CNO detached. Its users must be gone.
void destroy_evd(Evd& evd);

}  // namespace dapl
