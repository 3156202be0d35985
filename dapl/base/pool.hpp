// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Type-stable storage of the DAT objects. A freed slot keeps a first word that libdat2 can jump
/// through (every entry then answers DAT_INVALID_HANDLE), is reused first-in first-out and not
/// before 64 others of its kind; a handle kept longer than that cannot be told from its successor.
/// Slots are never unmapped: when the library is unloaded their first words become NULL.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "dapl/base/object.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

/// All-zero is an empty pool. Thread safe.
class Pool {
  public:
    /// @param size of the object behind the header; the same in every call.
    /// @return a slot that is not live. Throws std::bad_alloc.
    Header* allocate(std::size_t size, Kind kind) EXCLUDES(mutex_);
    void release(Header* slot) EXCLUDES(mutex_);
    /// @param index 20 bits. @return the slot with this index of a pool of Ts: live or not, or all
    /// zero when it was never made; nullptr when none near it was. No lock: completions are matched
    /// with their objects through it.
    template <class T>
    T* at(std::uint32_t index) const {
        char* chunk = chunks_[index / kSlotsPerChunk].load(std::memory_order_acquire);
        if (!chunk) return nullptr;
        return reinterpret_cast<T*>(chunk + index % kSlotsPerChunk * stride_of(sizeof(T)) +
                                    sizeof(Header));
    }
    /// The library goes: no handle may lead into it any more. Takes no lock; the pages of a pool
    /// without live objects are given back and read as zero. @return whether there were none.
    bool forget_provider() NO_THREAD_SAFETY_ANALYSIS;

  private:
    static constexpr std::uint32_t kReuseDistance = 64;
    static constexpr std::uint32_t kSlotsPerChunk = 64;
    static constexpr std::uint32_t kMaxChunks = 16384;  // 2^20 objects of a kind

    /// A power of two, so that a slot is found by a shift.
    static constexpr std::size_t stride_of(std::size_t size) {
        return std::bit_ceil(sizeof(Header) + size);
    }
    Header* slot_at(std::uint32_t index) const {
        char* chunk = chunks_[index / kSlotsPerChunk].load(std::memory_order_relaxed);
        return reinterpret_cast<Header*>(chunk + index % kSlotsPerChunk * stride_);
    }
    Header* make_slot() REQUIRES(mutex_);

    std::atomic<char*> chunks_[kMaxChunks];  ///< first: the data path's
    support::Mutex mutex_;
    std::size_t stride_;
    std::atomic<std::uint32_t> made_;  ///< slots that have ever been handed out
    Header* oldest_free_ GUARDED_BY(mutex_);
    Header* newest_free_ GUARDED_BY(mutex_);
    std::uint32_t free_ GUARDED_BY(mutex_);
};

/// @return the pool of a kind in this process. Throws std::bad_alloc at the first use.
Pool& pool_of(Kind kind);

/// The table of a freed object's first word: every entry checks its handle.
extern const DAT_PROVIDER kProviderTable;

/// From here on the handle leads to the object.
template <class T>
void admit(T& object, const DAT_PROVIDER* provider) {
    Header& header = object.header();
    header.provider.store(provider, std::memory_order_relaxed);
    header.kind_tag.store(&kKindTags[static_cast<int>(T::kKind)], std::memory_order_release);
}

/// Makes an object; its handle becomes valid when the constructor is through. Throws std::bad_alloc
/// and what the constructor throws.
template <class T, class... Arguments>
T* make(const DAT_PROVIDER* provider, Arguments&&... arguments) {
    static_assert(alignof(T) <= alignof(Header));
    Pool& pool = pool_of(T::kKind);
    Header* slot = pool.allocate(sizeof(T), T::kKind);
    T* object;
    try {
        object = new (slot + 1) T(std::forward<Arguments>(arguments)...);
    } catch (...) {
        pool.release(slot);
        throw;
    }
    admit(*object, provider);
    return object;
}

/// From here on, until admit(), the handle answers DAT_INVALID_HANDLE.
template <class T>
void revoke(T& object) {
    Header& header = object.header();
    header.kind_tag.store(nullptr, std::memory_order_release);
    header.provider.store(&kProviderTable, std::memory_order_relaxed);
}

template <class T>
void destroy(T& object) {
    Header* slot = &object.header();
    revoke(object);
    object.~T();
    pool_of(T::kKind).release(slot);
}

}  // namespace dapl
