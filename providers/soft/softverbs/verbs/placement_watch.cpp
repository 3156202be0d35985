// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/placement_watch.hpp"

#include <chrono>

#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

/// A message that two successive ticks find unpolled is placed.
constexpr std::chrono::milliseconds kTick{4};
static_assert(2 * kTick < std::chrono::milliseconds(10), "softverbs(7) says how long it takes");
/// The ticks continue for this many idle intervals, so that a program that sends a message now and
/// then does not wake the service thread for each one.
constexpr unsigned kIdleTicks = 64;

}  // namespace

void PlacementWatch::push(QueuePair& qp) {
    QueuePair* first = first_.load(std::memory_order_relaxed);
    do {
        qp.next_watched = first;
    } while (!first_.compare_exchange_weak(first, &qp, std::memory_order_seq_cst));
}

void PlacementWatch::add(QueuePair& qp) {
    push(qp);
    if (!is_ticking_.load(std::memory_order_seq_cst)) adapter_.process().self()->ring_doorbell();
}

void PlacementWatch::remove(const QueuePair& qp) {
    QueuePair* watched = first_.exchange(nullptr, std::memory_order_seq_cst);
    while (watched) {
        QueuePair* const next = watched->next_watched;
        if (watched != &qp) push(*watched);
        watched = next;
    }
}

void PlacementWatch::serve_doorbell() {
    if (is_ticking_.load(std::memory_order_seq_cst) || !first_.load(std::memory_order_seq_cst))
        return;
    idle_ticks_ = 0;
    tick_later();
    is_ticking_.store(true, std::memory_order_seq_cst);
}

void PlacementWatch::tick_later() {
    adapter_.process().service().at(Clock::now() + kTick, [this] { tick(); });
}

void PlacementWatch::tick() {
    {
        support::MutexLock lock(adapter_.mutex);
        QueuePair* watched = first_.exchange(nullptr, std::memory_order_seq_cst);
        idle_ticks_ = watched ? 0 : idle_ticks_ + 1;
        while (watched) {
            QueuePair* const next = watched->next_watched;
            if (watched->look_after_placement()) push(*watched);
            watched = next;
        }
    }
    if (idle_ticks_ < kIdleTicks) return tick_later();
    // A post that still read true from is_ticking_ has not rung the doorbell, but its queue pair is
    // on the stack already.
    is_ticking_.store(false, std::memory_order_seq_cst);
    serve_doorbell();
}

void QueuePair::watch_placement() {
    is_watched_ = true;
    adapter_.placement->add(*this);
}

void QueuePair::end_watch() {
    adapter_.placement->remove(*this);
}

/// While a post holds send_lock_, the check is left to the next tick.
bool QueuePair::look_after_placement() {
    if (!send_lock_.try_lock()) return true;
    const support::SpinLockGuard lock(send_lock_, support::SpinLockGuard::kTaken);
    is_watched_ =
        datagrams_ ? datagrams_->targets().look_after_placement() : unplaced_.look(target_);
    return is_watched_;
}

void QueuePair::leave_placement() {
    datagrams_ ? datagrams_->targets().leave_placement() : unplaced_.leave(target_);
}

}  // namespace softverbs
