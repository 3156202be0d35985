// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/arena/requesters.hpp"

#include <time.h>

#include <algorithm>

#include "providers/soft/softverbs/arena/barrier.hpp"
#include "providers/soft/softverbs/arena/kick.hpp"
#include "providers/soft/softverbs/arena/peer_image.hpp"
#include "support/log/log.hpp"

namespace softverbs {
namespace {

/// Number of checks, with a short pause after each, before a system call asks whether the process
/// has ended.
constexpr int kLooksBeforeDoubt = 2048;

bool is_over(const std::atomic<std::uint64_t>& word, std::uint64_t seen) {
    constexpr int kPieceBits = 32;
    return word.load(std::memory_order_acquire) >> kPieceBits != seen >> kPieceBits;
}

void rest() {
    const timespec pause{0, 100000};
    nanosleep(&pause, nullptr);
}

}  // namespace

void Requesters::enter(std::uint32_t index, std::uint32_t qp_num, const std::shared_ptr<Peer>& peer,
                       const std::atomic<std::uint64_t>* word) {
    support::SpinLockGuard guard(lock_);
    seats_[index] = {word, peer.get(), qp_num};
    end_ = std::max(end_, index + 1);
    taken_.fetch_add(1, std::memory_order_seq_cst);
}

void Requesters::leave(std::uint32_t index) {
    support::SpinLockGuard guard(lock_);
    if (!seats_[index].word) return;
    seats_[index] = {};
    taken_.fetch_sub(1, std::memory_order_seq_cst);
}

bool Requesters::begin_wait() const {
    if (taken_.load(std::memory_order_seq_cst) == 0) return false;
    issue_barrier();
    return true;
}

bool Requesters::wait_for(const Work& work, Deadline deadline) {
    int looks = 0;
    while (looks < kLooksBeforeDoubt && !is_over(*work.word, work.seen)) relax(looks);
    const bool is_patient = Clock::now() < deadline;
    while (!is_over(*work.word, work.seen)) {
        if (image_has_ended(*work.peer)) return true;
        if (Clock::now() >= deadline) {
            if (is_patient) support::report<support::kPeerHeldUp>(work.peer->pid());
            return false;
        }
        rest();
    }
    return true;
}

bool Requesters::is_seated(std::uint32_t index) const {
    support::SpinLockGuard guard(lock_);
    return seats_[index].word != nullptr;
}

bool Requesters::wait_for_queue_pair(std::uint32_t index, Deadline deadline) {
    if (!is_seated(index)) return true;  // barriers were a quarter of a connection's work
    issue_barrier();
    Work work;
    {
        support::SpinLockGuard guard(lock_);
        const Seat& seat = seats_[index];
        if (!seat.word) return true;
        work.seen = seat.word->load(std::memory_order_acquire);
        if (TransferMark::qp_num(work.seen) != seat.qp_num) return true;
        work.peer = seat.peer->shared_from_this();
        work.word = seat.word;
    }
    return wait_for(work, deadline);
}

}  // namespace softverbs
