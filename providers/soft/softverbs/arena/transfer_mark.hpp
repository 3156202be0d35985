// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The requester's half of the rule that nothing arrives after the end of a registration or of a
/// queue: it marks its transfer in its own arena (layout.hpp, TransferMark) before it checks
/// whether the target still permits it. requesters.hpp is the other half.
#pragma once

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/arena/layout.hpp"

namespace softverbs {

class Transfer {
  public:
    /// @param word QpEntry::transfer of the requester's queue pair; its send_lock is held.
    /// @param target number of the queue pair at the other end.
    /// @param key what the request may touch: a memory key, or TransferMark::kQueues.
    /// @param fenced false: whoever waits for us issues a barrier (barrier.hpp).
    Transfer(std::atomic<std::uint64_t>& word, std::uint32_t target, std::uint32_t key, bool fenced)
        : word_(word), target_(target), key_(key), fenced_(fenced) {
        begin();
        fault_point(FaultPoint::kTransferMarked);
    }
    ~Transfer() {
        end();
        fault_point(FaultPoint::kTransferEnded);
    }
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    /// Ends the mark early: nothing more is touched, and what follows may take long, or wait for
    /// others.
    void end() {
        word_.store(TransferMark::encode(0, TransferMark::count(load()), 0),
                    std::memory_order_release);
    }
    /// Extends the mark of the current piece to memory under this key. Whether that is permitted
    /// must be checked after this call.
    void widen(std::uint32_t key) {
        key_ = key;
        put(TransferMark::encode(target_, TransferMark::count(load()), key_));
    }
    /// Begins the next piece, so that whoever waits for the one before can continue. Everything
    /// must be checked again.
    void next_piece() {
        end();
        begin();
    }

  private:
    std::uint64_t load() const { return word_.load(std::memory_order_relaxed); }
    void begin() { put(TransferMark::encode(target_, TransferMark::count(load()) + 1, key_)); }
    void put(std::uint64_t mark) {
        word_.store(mark, std::memory_order_relaxed);
        if (fenced_)
            std::atomic_thread_fence(std::memory_order_seq_cst);
        else
            std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    std::atomic<std::uint64_t>& word_;
    const std::uint32_t target_;
    std::uint32_t key_;
    const bool fenced_;
};

}  // namespace softverbs
