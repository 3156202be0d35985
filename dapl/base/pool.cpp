// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/base/pool.hpp"

#include <sys/mman.h>

#include "dapl/base/process_state.hpp"

namespace dapl {
namespace {

std::atomic<ProcessState*> state;

/// Runs when the library is unloaded and at process exit. Other threads may still call the library
/// then, so it waits for no lock.
[[gnu::destructor]] void forget_library() {
    ProcessState* known = state.load();
    if (!known) return;
    bool unused = true;
    for (Pool& pool : known->pools) unused = pool.forget_provider() && unused;
    if (unused) madvise(known, sizeof *known, MADV_DONTNEED);  // nobody is in a call
}

}  // namespace

void* map_forgotten_by_children(std::size_t size) {
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    if (madvise(pages, size, MADV_WIPEONFORK) != 0) {
        munmap(pages, size);
        throw std::bad_alloc();
    }
    return pages;
}

ProcessState& process_state() {
    ProcessState* known = state.load(std::memory_order_acquire);
    if (known) return *known;
    void* pages = map_forgotten_by_children(sizeof(ProcessState));
    ProcessState* made = static_cast<ProcessState*>(pages);
    if (state.compare_exchange_strong(known, made)) return *made;
    munmap(pages, sizeof(ProcessState));
    return *known;
}

Pool& pool_of(Kind kind) {
    return process_state().pools[static_cast<int>(kind)];
}

Header* Pool::make_slot() {
    const std::uint32_t index = made_.load(std::memory_order_relaxed);
    const std::uint32_t chunk = index / kSlotsPerChunk;
    if (chunk == kMaxChunks) throw std::bad_alloc();
    if (index % kSlotsPerChunk == 0)
        chunks_[chunk].store(
            static_cast<char*>(map_forgotten_by_children(kSlotsPerChunk * stride_)),
            std::memory_order_release);
    made_.store(index + 1, std::memory_order_release);
    Header* slot = slot_at(index);
    slot->index = index;
    return slot;
}

Header* Pool::allocate(std::size_t size, Kind kind) {
    const std::uint64_t id = process_state().ids.next(static_cast<std::uint32_t>(kind));
    support::MutexLock lock(mutex_);
    stride_ = stride_of(size);
    Header* slot;
    if (free_ > kReuseDistance) {
        slot = oldest_free_;
        oldest_free_ = slot->next_free;
        --free_;
    } else {
        slot = make_slot();
    }
    slot->next_free = nullptr;
    slot->context = {};
    slot->id = id;
    ++slot->generation;
    return slot;
}

void Pool::release(Header* slot) {
    support::MutexLock lock(mutex_);
    slot->next_free = nullptr;
    (free_ ? newest_free_->next_free : oldest_free_) = slot;
    newest_free_ = slot;
    ++free_;
}

bool Pool::forget_provider() {
    const std::uint32_t made = made_.load(std::memory_order_acquire);
    if (made == free_) {
        for (std::uint32_t first = 0; first < made; first += kSlotsPerChunk)
            madvise(slot_at(first), kSlotsPerChunk * stride_, MADV_DONTNEED);
        return true;
    }
    for (std::uint32_t index = 0; index < made; ++index) {
        slot_at(index)->kind_tag.store(nullptr, std::memory_order_relaxed);
        slot_at(index)->provider.store(nullptr, std::memory_order_relaxed);
    }
    return false;
}

}  // namespace dapl
