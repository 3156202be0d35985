// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Send completions, in private memory: the part of a completion queue that no other process sees.
/// Posting threads add them under this class's own lock; the thread that polls removes them without
/// it, under the completion queue's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "providers/soft/softverbs/verbs/timestamp.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

class QueuePair;

struct SendCompletion {
    SendCompletion() = default;
    SendCompletion(std::uint64_t id, QueuePair* of, std::uint32_t length, std::uint32_t place,
                   std::uint8_t result, std::uint8_t kind)
        : wr_id(id), qp(of), byte_len(length), position(place), status(result), opcode(kind) {}
    std::uint64_t timestamp() const {
        std::uint64_t value = 0;
        std::memcpy(&value, stamp, sizeof stamp);
        return value;
    }
    void set_timestamp(std::uint64_t value) { std::memcpy(stamp, &value, sizeof stamp); }

    std::uint64_t wr_id;
    QueuePair* qp;  ///< nullptr once the queue pair is reset or being destroyed
    std::uint32_t byte_len;
    std::uint32_t position;  ///< in the send queue
    std::uint8_t status;
    std::uint8_t opcode;
    std::uint8_t stamp[kTimestampBits / 8];  ///< written only if the queue has timestamps
};
static_assert(sizeof(SendCompletion) == 32);

class SendCompletions {
  public:
    using Storage = std::unique_ptr<SendCompletion[]>;
    /// @return storage that is not initialised: what is never used costs no memory.
    static Storage storage(std::uint32_t size) { return Storage(new SendCompletion[size]); }
    /// Called by the consumer. Waiting completions are kept, even if there are more than `size`.
    /// @param size the new capacity, a power of two.
    /// @param next storage(size); afterwards the storage that is no longer used.
    void resize(std::uint32_t size, Storage& next) EXCLUDES(lock);

    /// @return false when the queue is full.
    bool put(const SendCompletion& completion) REQUIRES(lock) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) >= size_) [[unlikely]]
            return put_with_stamp(completion);
        entries_[tail & mask_] = completion;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }

    // -- called by the consumer
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
    /// Visits the completions, oldest first, until one matches. @return whether one does.
    template <class Matches>
    bool any(Matches matches) {
        const std::uint64_t tail = tail_.load(std::memory_order_acquire);
        for (std::uint64_t at = head_.load(std::memory_order_relaxed); at != tail; ++at)
            if (matches(entries_[at & mask_])) return true;
        return false;
    }

    /// Held by whoever calls put(). Whoever arms the queue holds it too, so that a completion is
    /// either seen by the poll that follows, or sees the request for an event.
    support::SpinLock lock;

    /// Gives each completion a timestamp from now on. Called before the first.
    void set_stamped() { is_stamped_ = true; }

  private:
    /// By value, so that put() need not store the completion first.
    bool put_with_stamp(SendCompletion completion) REQUIRES(lock);

    /// Changed by the consumer with `lock` held, as are the next two, so that it and whoever holds
    /// `lock` may read them.
    Storage entries_;
    std::uint64_t size_ = 0;      ///< 0 with timestamps: put() leaves these to put_with_stamp()
    std::uint64_t capacity_ = 0;  ///< of both
    bool is_stamped_ = false;
    std::uint64_t mask_ = 0;  ///< of entries_, which never shrinks
    alignas(64) std::atomic<std::uint64_t> tail_{0};
    alignas(64) std::atomic<std::uint64_t> head_{0};
};

[[gnu::noinline, gnu::cold]] inline bool SendCompletions::put_with_stamp(
    SendCompletion completion) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (!is_stamped_ || tail - head_.load(std::memory_order_acquire) >= capacity_) return false;
    completion.set_timestamp(timestamp_now());
    entries_[tail & mask_] = completion;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
}

inline void SendCompletions::resize(std::uint32_t size, Storage& next) {
    support::SpinLockGuard guard(lock);
    capacity_ = size;
    size_ = is_stamped_ ? 0 : size;
    if (entries_ && size <= mask_ + 1) return;
    std::uint64_t kept = 0;
    each([&](const SendCompletion& completion) { next[kept++] = completion; });
    entries_.swap(next);
    mask_ = size - 1;
    head_.store(0, std::memory_order_relaxed);
    tail_.store(kept, std::memory_order_release);
}

}  // namespace softverbs
