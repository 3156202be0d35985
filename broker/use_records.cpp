// SPDX-License-Identifier: BSD-2-Clause
#include "broker/use_records.hpp"

#include <algorithm>
#include <new>

namespace dapl::memory {

UseRecords::~UseRecords() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
}

/// Allocates chunks until enough records are free. They are kept, so there are as many as transfers
/// were ever outstanding at once.
bool UseRecords::has_free(int records) {
    while (free_count_ < records) {
        if (made_chunks_ == kChunks) return false;
        auto* chunk = new (std::nothrow) Record[kPerChunk];
        if (!chunk) return false;
        const std::uint32_t first = made_chunks_ * kPerChunk;
        for (std::uint32_t i = 0; i < kPerChunk; ++i) {
            chunk[i].generation.store(2, std::memory_order_relaxed);
            chunk[i].next_free = i + 1 < kPerChunk ? first + i + 1 : free_;
        }
        free_ = first;
        free_count_ += kPerChunk;
        chunks_[made_chunks_++].store(chunk, std::memory_order_release);
    }
    return true;
}

std::uint32_t UseRecords::pop() {
    const std::uint32_t index = free_;
    free_ = at(index)->next_free;
    --free_count_;
    return index;
}

UseNumber UseRecords::add(DAT_UINT64 cookie, Registration* const* used, int count,
                          const void* queue) {
    const int records = std::max(1, (count + kInline - 1) / kInline);
    support::SpinLockGuard lock(lock_);
    if (!has_free(records)) return kNoUse;
    std::uint32_t more = kNone;
    for (int left = records - 1; left >= 0; --left) {
        const std::uint32_t index = pop();
        Record& record = *at(index);
        record.count = std::min(kInline, count - left * kInline);
        std::copy_n(used + left * kInline, std::max(record.count, 0), record.used.begin());
        record.more = more;
        record.queue.store(left == 0 ? queue : nullptr, std::memory_order_relaxed);
        more = index;
    }
    Record& first = *at(more);
    first.cookie.store(cookie, std::memory_order_relaxed);
    // Only the first record of a chain has the generation of the transfer: odd, and so never 0,
    // even after a wrap.
    const std::uint32_t generation =
        ((first.generation.load(std::memory_order_relaxed) + 1) | 1) & kGenerations;
    first.generation.store(generation, std::memory_order_release);
    return number(more, generation);
}

DAT_UINT64 UseRecords::cookie_of(UseNumber wanted) const {
    const Record* record = at(static_cast<std::uint32_t>(wanted));
    const auto generation = static_cast<std::uint32_t>(wanted >> 32);
    if (!record || record->generation.load(std::memory_order_acquire) != generation) return 0;
    return record->cookie.load(std::memory_order_relaxed);
}

}  // namespace dapl::memory
