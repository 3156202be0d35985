// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What IAs, EPs and EVDs count, always: DCNT_* of dat2/dat_ib_extensions.h. A counter only grows;
/// a reset notes where it stands, so that whoever counts never waits for who reads.
#pragma once

#include <dat2/dat_ib_extensions.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "support/base/processor.hpp"

namespace dapl {

template <int size>
class Counters {
  public:
    /// Any thread.
    void count(int which, std::uint64_t amount = 1) {
        counts_[which].fetch_add(amount, std::memory_order_relaxed);
    }
    /// The same where a lock lets one thread count at a time: no locked instruction.
    [[gnu::always_inline]] void count_alone(int which, std::uint64_t amount = 1) {
        support::add_alone(counts_[which], amount);
    }
    std::uint64_t total(int which) const { return counts_[which].load(std::memory_order_relaxed); }

  private:
    std::array<std::atomic<std::uint64_t>, size> counts_{};
};

/// Where the counters of an object stood when they were reset last.
template <int size>
using CounterMarks = std::array<std::atomic<std::uint64_t>, size>;

struct IaCounters : Counters<DCNT_IA_ALL_COUNTERS> {
    CounterMarks<DCNT_IA_ALL_COUNTERS> marks{};
};

/// Requests are counted with their lock held, receives that are posted with theirs, those that have
/// come with the lock of the EVD: by three threads, perhaps, and so each on cache lines of its own.
struct alignas(64) EpCounters : Counters<DCNT_EP_ALL_COUNTERS + 2> {
    CounterMarks<DCNT_EP_ALL_COUNTERS> marks{};

    /// @return one of those that consumers see.
    std::uint64_t value(int which) const {
        const bool moved = which == DCNT_EP_POST_RECV || which == DCNT_EP_POST_RECV_DATA;
        return total(moved ? which - DCNT_EP_POST_RECV + kPostedReceives : which);
    }

    /// @param operation DAT_DTOS or DAT_IB_DTOS of a request or receive that was posted.
    [[gnu::always_inline]] void posted(std::uint32_t operation, std::uint64_t bytes);
    /// @param which a counter of receives that have come, behind which that of their bytes stands.
    [[gnu::always_inline]] void received(int which, std::uint64_t bytes) {
        count_alone(which);
        count_alone(which + 1, bytes);
    }

  private:
    /// In the place of DCNT_EP_POST_RECV, which stands on the line of the sends.
    static constexpr int kPostedReceives = DCNT_EP_ALL_COUNTERS;
};
static_assert(DCNT_EP_RECV % 8 == 0 && DCNT_EP_ALL_COUNTERS % 8 == 0, "begin a cache line");

/// How often a look at an EVD went as nearly all do, by the shortest way: each stands for several
/// counters that consumers see.
enum EvdWay : int {
    kFoundOnDevice = DCNT_EVD_ALL_COUNTERS,  ///< asked the device for one completion, and got it
    kDeviceEmpty,                            ///< asked it, and it had none
    kEvdWays
};

/// Those that are counted alone are counted with the EVD's lock held.
struct EvdCounters : Counters<kEvdWays> {
    CounterMarks<DCNT_EVD_ALL_COUNTERS> marks{};

    /// @return one of those that consumers see.
    std::uint64_t value(int which) const;
};

inline void EpCounters::posted(std::uint32_t operation, std::uint64_t bytes) {
    int which;
    switch (operation) {
        case DAT_DTO_SEND:
        case DAT_IB_DTO_SEND_IMMED:
            which = DCNT_EP_POST_SEND;
            break;
        case DAT_IB_DTO_SEND_UD:
            which = DCNT_EP_POST_SEND_UD;
            break;
        case DAT_DTO_RECEIVE:
        case DAT_IB_DTO_RECV_IMMED:
            which = kPostedReceives;
            break;
        case DAT_DTO_RDMA_WRITE:
            which = DCNT_EP_POST_WRITE;
            break;
        case DAT_IB_DTO_RDMA_WRITE_IMMED:
            which = DCNT_EP_POST_WRITE_IMM;
            break;
        case DAT_DTO_RDMA_READ:
            which = DCNT_EP_POST_READ;
            break;
        case DAT_IB_DTO_CMP_SWAP:
            return count_alone(DCNT_EP_POST_CMP_SWAP);
        case DAT_IB_DTO_FETCH_ADD:
            return count_alone(DCNT_EP_POST_FETCH_ADD);
        default:
            return;
    }
    count_alone(which);
    count_alone(which + 1, bytes);
}

}  // namespace dapl
