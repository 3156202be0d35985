// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Use records: what an outstanding transfer uses, if that is more than one registration, or the
/// transfer is a shared receive. For a shared receive the core carries the
/// record's number in place of the cookie; when the completion becomes an event, the cookie is
/// restored and the uses end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "dapl/base/dat.hpp"
#include "support/thread/mutex.hpp"

namespace dapl::memory {

struct Registration;

/// Number of a record, 62 bits. It includes a generation, so that the number of a record that has
/// ended is recognised.
using UseNumber = std::uint64_t;
inline constexpr UseNumber kNoUse = 0;

/// Thread safe. Records never move; their lock comes after all others.
class UseRecords {
  public:
    UseRecords() = default;
    ~UseRecords();
    UseRecords(const UseRecords&) = delete;
    UseRecords& operator=(const UseRecords&) = delete;

    /// Records the uses of a transfer.
    /// @param used registrations whose use has begun; the record ends it.
    /// @param queue the SRQ of a shared receive, else nullptr.
    /// @return the record's number; kNoUse if memory is short: the uses are still the caller's.
    UseNumber add(DAT_UINT64 cookie, Registration* const* used, int count,
                  const void* queue = nullptr) EXCLUDES(lock_);
    /// @return the consumer's cookie of a record that has not ended; else 0.
    DAT_UINT64 cookie_of(UseNumber number) const;
    /// Ends a record and its uses, however the transfer ended; does nothing if it has ended
    /// already. @param ended called with each registration.
    template <class Ended>
    void end(UseNumber number, const Ended& ended) EXCLUDES(lock_);
    /// Ends the records of all shared receives of an SRQ that has been freed.
    template <class Ended>
    void end_all_of(const void* queue, const Ended& ended) EXCLUDES(lock_);

  private:
    static constexpr int kInline = 5;
    static constexpr std::uint32_t kPerChunk = 256;
    static constexpr std::uint32_t kChunks = 4096;
    static constexpr std::uint32_t kNone = ~0U;
    static constexpr std::uint32_t kGenerations = ~0U >> 2;

    struct Record {
        std::atomic<std::uint32_t> generation{1};  ///< odd while the record is that of a transfer
        std::int32_t count;
        std::atomic<DAT_UINT64> cookie;
        std::atomic<const void*> queue{nullptr};
        std::array<Registration*, kInline> used;
        std::uint32_t more;  ///< index of the record with the other registrations, or kNone
        std::uint32_t next_free;
    };

    Record* at(std::uint32_t index) const {
        if (index >= kPerChunk * kChunks) return nullptr;
        Record* chunk = chunks_[index / kPerChunk].load(std::memory_order_acquire);
        return chunk ? &chunk[index % kPerChunk] : nullptr;
    }
    static UseNumber number(std::uint32_t index, std::uint32_t generation) {
        return UseNumber{generation} << 32 | index;
    }
    bool has_free(int records) REQUIRES(lock_);
    std::uint32_t pop() REQUIRES(lock_);
    template <class Ended>
    void finish(std::uint32_t index, const Ended& ended) EXCLUDES(lock_);

    support::SpinLock lock_;
    std::array<std::atomic<Record*>, kChunks> chunks_{};
    std::uint32_t made_chunks_ GUARDED_BY(lock_) = 0;
    std::uint32_t free_ GUARDED_BY(lock_) = kNone;
    int free_count_ GUARDED_BY(lock_) = 0;
};

template <class Ended>
void UseRecords::end(UseNumber ended_number, const Ended& ended) {
    const auto index = static_cast<std::uint32_t>(ended_number);
    auto generation = static_cast<std::uint32_t>(ended_number >> 32);
    Record* record = at(index);
    // The thread that increments the generation owns the record.
    if (!record || (generation & 1) == 0 ||
        !record->generation.compare_exchange_strong(generation, (generation + 1) & kGenerations,
                                                    std::memory_order_acq_rel))
        return;
    finish(index, ended);
}

template <class Ended>
void UseRecords::finish(std::uint32_t first, const Ended& ended) {
    std::uint32_t last = first;
    int records = 1;
    for (std::uint32_t index = first;;) {
        Record& record = *at(index);
        for (int i = 0; i < record.count; ++i) ended(*record.used[i]);
        last = index;
        if (record.more == kNone) break;
        record.next_free = record.more;
        index = record.more;
        ++records;
    }
    support::SpinLockGuard lock(lock_);
    at(last)->next_free = free_;
    free_ = first;
    free_count_ += records;
}

template <class Ended>
void UseRecords::end_all_of(const void* queue, const Ended& ended) {
    std::uint32_t made;
    {
        support::SpinLockGuard lock(lock_);
        made = made_chunks_ * kPerChunk;
    }
    for (std::uint32_t index = 0; index < made; ++index) {
        Record& record = *at(index);
        const std::uint32_t generation = record.generation.load(std::memory_order_acquire);
        if ((generation & 1) != 0 && record.queue.load(std::memory_order_relaxed) == queue)
            end(number(index, generation), ended);
    }
}

}  // namespace dapl::memory
