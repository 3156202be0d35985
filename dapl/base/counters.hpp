// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Counters of IAs, EPs and EVDs, always enabled: DCNT_* of dat2/dat_ib_extensions.h. A counter
/// only grows; a reset records its present value, so that a thread that counts never waits for a
/// reader.
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
    /// Adds to a counter, from any thread.
    void count(int which, std::uint64_t amount = 1) {
        counts_[which].fetch_add(amount, std::memory_order_relaxed);
    }
    /// Adds to a counter without a locked instruction. The caller holds a lock that lets one thread
    /// count at a time.
    [[gnu::always_inline]] void count_alone(int which, std::uint64_t amount = 1) {
        support::add_alone(counts_[which], amount);
    }
    std::uint64_t total(int which) const { return counts_[which].load(std::memory_order_relaxed); }

  private:
    std::array<std::atomic<std::uint64_t>, size> counts_{};
};

/// The values that an object's counters had at their last reset.
template <int size>
using CounterMarks = std::array<std::atomic<std::uint64_t>, size>;

struct IaCounters : Counters<DCNT_IA_ALL_COUNTERS> {
    CounterMarks<DCNT_IA_ALL_COUNTERS> marks{};
};

/// Counters of an EP. Posted requests are counted with the lock of their side held, posted receives
/// with that of theirs, completed receives with the lock of the EVD. Up to three threads may count
/// at once, so each group has cache lines of its own.
struct alignas(64) EpCounters : Counters<DCNT_EP_ALL_COUNTERS + 2> {
    CounterMarks<DCNT_EP_ALL_COUNTERS> marks{};

    /// @return the counter `which` of DCNT_EP_*, as consumers see it.
    std::uint64_t value(int which) const {
        const bool moved = which == DCNT_EP_POST_RECV || which == DCNT_EP_POST_RECV_DATA;
        return total(moved ? which - DCNT_EP_POST_RECV + kPostedReceives : which);
    }

    /// Counts a posted request or receive. @param operation DAT_DTOS or DAT_IB_DTOS.
    [[gnu::always_inline]] void posted(std::uint32_t operation, std::uint64_t bytes);
    /// Counts a completed receive. @param which its counter; that of the bytes follows it.
    [[gnu::always_inline]] void received(int which, std::uint64_t bytes) {
        count_alone(which);
        count_alone(which + 1, bytes);
    }

  private:
    /// Stands in for DCNT_EP_POST_RECV, whose cache line belongs to the sends; then come the bytes.
    static constexpr int kPostedReceives = DCNT_EP_ALL_COUNTERS;
};
static_assert(DCNT_EP_RECV % 8 == 0 && DCNT_EP_ALL_COUNTERS % 8 == 0, "begin a cache line");

/// Counters of the shortest paths through dat_evd_dequeue, which nearly all calls take. Each
/// counter stands for several that consumers see.
enum EvdWay : int {
    kFoundOnDevice = DCNT_EVD_ALL_COUNTERS,  ///< polled the device and got a completion
    kDeviceEmpty,                            ///< polled it and got none
    kEvdWays
};

/// Counters of an EVD. Calls of count_alone() hold the EVD's lock.
struct EvdCounters : Counters<kEvdWays> {
    CounterMarks<DCNT_EVD_ALL_COUNTERS> marks{};

    /// @return the counter `which` of DCNT_EVD_*, as consumers see it.
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
