// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completions of our own requests, in private memory: the other part of a completion queue, which
/// no other process sees. Threads that post put them in under a lock of their own; whoever polls
/// takes them out without it, under the completion queue's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "support/thread/mutex.hpp"

namespace softverbs {

class QueuePair;

struct SendCompletion {
    std::uint64_t wr_id;
    QueuePair* qp;  ///< nullptr once the queue pair is being destroyed
    std::uint32_t byte_len;
    std::uint32_t position;  ///< in the send queue
    std::uint8_t status;
    std::uint8_t opcode;
};

class SendCompletions {
  public:
    using Storage = std::unique_ptr<SendCompletion[]>;
    /// Not initialized: what is never used costs no memory.
    static Storage storage(std::uint32_t size) { return Storage(new SendCompletion[size]); }
    /// By the consumer. What waits stays, also where it is more than `size`.
    /// @param size how many shall find room, a power of two. @param next storage(size)
    void resize(std::uint32_t size, Storage& next) EXCLUDES(lock);

    /// @return false when there is no room.
    bool put(const SendCompletion& completion) REQUIRES(lock) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) >= size_) return false;
        entries_[tail & mask_] = completion;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }

    // -- by the consumer
    bool empty() const {
        return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire);
    }
    std::uint32_t waiting() const {
        return static_cast<std::uint32_t>(tail_.load(std::memory_order_acquire) -
                                          head_.load(std::memory_order_relaxed));
    }
    SendCompletion& oldest() { return entries_[head_.load(std::memory_order_relaxed) & mask_]; }
    void drop_oldest() {
        head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    template <class Visit>
    void each(Visit visit) {
        any([&](SendCompletion& completion) { return visit(completion), false; });
    }
    /// Oldest first, until one matches. @return whether one does.
    template <class Matches>
    bool any(Matches matches) {
        const std::uint64_t tail = tail_.load(std::memory_order_acquire);
        for (std::uint64_t at = head_.load(std::memory_order_relaxed); at != tail; ++at)
            if (matches(entries_[at & mask_])) return true;
        return false;
    }

    /// Of those who put. Whoever arms the queue holds it too, so that a completion either is seen
    /// by the poll that follows, or sees the request.
    support::SpinLock lock;

  private:
    /// Changed by the consumer with `lock` held, so that either may read them.
    Storage entries_;
    std::uint64_t size_ = 0;
    std::uint64_t mask_ = 0;  ///< of entries_, which do not become fewer
    alignas(64) std::atomic<std::uint64_t> tail_{0};
    alignas(64) std::atomic<std::uint64_t> head_{0};
};

inline void SendCompletions::resize(std::uint32_t size, Storage& next) {
    support::SpinLockGuard guard(lock);
    size_ = size;
    if (entries_ && size <= mask_ + 1) return;
    std::uint64_t kept = 0;
    each([&](const SendCompletion& completion) { next[kept++] = completion; });
    entries_.swap(next);
    mask_ = size - 1;
    head_.store(0, std::memory_order_relaxed);
    tail_.store(kept, std::memory_order_release);
}

}  // namespace softverbs
