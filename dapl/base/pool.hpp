// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Type-stable storage of the DAT objects. A freed slot keeps a first word that libdat2 can jump
/// through: every entry then returns DAT_INVALID_HANDLE. Slots are reused first-in first-out, and
/// none before 64 others of its kind have been freed; a handle kept longer than that cannot be told
/// from its successor. Slots are never unmapped: when the library is unloaded, their first words
/// become NULL.
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
    /// Lock-free: maps completions to their objects. @param index 20 bits.
    /// @return the slot with this index in a pool of Ts, live or not; all zero if it was never
    /// made, nullptr if its chunk was never mapped.
    template <class T>
    T* at(std::uint32_t index) const {
        char* chunk = chunks_[index / kSlotsPerChunk].load(std::memory_order_acquire);
        if (!chunk) return nullptr;
        return reinterpret_cast<T*>(chunk + index % kSlotsPerChunk * stride_of(sizeof(T)) +
                                    sizeof(Header));
    }
    /// Called when the library is unloaded: no handle may lead into it any more. Takes no lock. The
    /// pages of a pool without live objects are dropped and read as zero.
    /// @return whether the pool had no live objects.
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

    std::atomic<char*> chunks_[kMaxChunks];  ///< first member: the data path reads it
    support::Mutex mutex_;
    std::size_t stride_;
    std::atomic<std::uint32_t> made_;  ///< number of slots made so far
    Header* oldest_free_ GUARDED_BY(mutex_);
    Header* newest_free_ GUARDED_BY(mutex_);
    std::uint32_t free_ GUARDED_BY(mutex_);
};

/// @return the pool of a kind in this process. Throws std::bad_alloc at the first use.
Pool& pool_of(Kind kind);

/// The function table to which a freed object's first word points: every entry checks its handle.
extern const DAT_PROVIDER kProviderTable;

/// Makes the object's handle valid.
template <class T>
void admit(T& object, const DAT_PROVIDER* provider) {
    Header& header = object.header();
    header.provider.store(provider, std::memory_order_relaxed);
    header.kind_tag.store(&kKindTags[static_cast<int>(T::kKind)], std::memory_order_release);
}

/// Makes an object; its handle becomes valid when the constructor has returned. Throws
/// std::bad_alloc and what the constructor throws.
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

/// Makes the handle return DAT_INVALID_HANDLE until admit().
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
