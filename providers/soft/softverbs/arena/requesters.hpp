// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The requesters of this process's connected queue pairs, for whoever has to wait for them. Each
/// has one word in its own arena that says whether a transfer is under way, where to, and under
/// which key (layout.hpp, TransferMark). A queue pair that merely names one of ours as its
/// destination has no seat here, so it can neither prolong a wait nor end it.
#pragma once

#include <array>
#include <memory>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/arena/layout.hpp"
#include "providers/soft/softverbs/arena/own_pages.hpp"
#include "providers/soft/softverbs/fabric/peer.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// A call waits so long for requesters before it fails with EBUSY. A piece of a transfer takes
/// microseconds; a requester that takes longer has been stopped. The tests at fault points stop
/// requesters by the dozen, so they wait less.
#if defined(SOFTVERBS_FAULT_POINTS)
inline constexpr std::chrono::milliseconds kRequesterPatience{500};
#else
inline constexpr std::chrono::seconds kRequesterPatience{5};
#endif

class Requesters {
  public:
    explicit Requesters(TablePages& pages) : seats_(pages, kMaxQps) {}
    /// @param index of our queue pair. @param qp_num its number.
    /// @param peer the caller keeps it until leave().
    /// @param word QpEntry::transfer of the requester.
    void enter(std::uint32_t index, std::uint32_t qp_num, const std::shared_ptr<Peer>& peer,
               const std::atomic<std::uint64_t>* word) EXCLUDES(lock_);
    void leave(std::uint32_t index) EXCLUDES(lock_);

    /// Waits until each piece of work that was under way when the call began has ended, or its
    /// process has. Issues the barrier first. Holds no lock while it waits.
    /// @param concerns (index of our queue pair, key of TransferMark): whether to wait for that
    /// piece.
    /// @return false when one of them has not ended at `deadline`.
    template <class Concerns>
    bool wait(Deadline deadline, Concerns concerns) EXCLUDES(lock_) {
        if (!begin_wait()) return true;
        for (std::uint32_t next = 0; next < kMaxQps;) {
            Found found;
            next = collect(next, found, concerns);
            for (std::uint32_t i = 0; i < found.count; ++i)
                if (!wait_for(found.works[i], deadline)) return false;
        }
        return true;
    }
    /// Like wait(), for the requester of one queue pair.
    bool wait_for_queue_pair(std::uint32_t index, Deadline deadline) EXCLUDES(lock_);

  private:
    struct Seat {
        const std::atomic<std::uint64_t>* word;
        Peer* peer;  ///< kept alive by the queue pair's Target
        std::uint32_t qp_num;
    };
    struct Work {
        std::shared_ptr<Peer> peer;
        const std::atomic<std::uint64_t>* word = nullptr;
        std::uint64_t seen = 0;
    };
    struct Found {
        std::array<Work, 16> works;
        std::uint32_t count = 0;
    };

    /// Issues the barrier unless there are no requesters. @return whether there are any.
    bool begin_wait() const;
    bool is_seated(std::uint32_t index) const EXCLUDES(lock_);
    static bool wait_for(const Work& work, Deadline deadline);
    /// Collects works from seat `next` on, until `found` is full.
    /// @return the seat to continue with.
    template <class Concerns>
    std::uint32_t collect(std::uint32_t next, Found& found, Concerns concerns) EXCLUDES(lock_) {
        support::SpinLockGuard guard(lock_);
        for (; next < end_ && found.count < found.works.size(); ++next) {
            const Seat& seat = seats_[next];
            if (!seat.word) continue;
            const std::uint64_t mark = seat.word->load(std::memory_order_acquire);
            if (TransferMark::qp_num(mark) != seat.qp_num) continue;
            if (!concerns(next, TransferMark::key(mark))) continue;
            found.works[found.count++] = {seat.peer->shared_from_this(), seat.word, mark};
        }
        return next < end_ ? next : kMaxQps;
    }

    mutable support::SpinLock lock_;
    LargeTable<Seat> seats_;  ///< by index of our queue pair
    /// Behind the last seat that was ever taken.
    std::uint32_t end_ GUARDED_BY(lock_) = 0;
    std::atomic<std::uint32_t> taken_{0};
};

}  // namespace softverbs
