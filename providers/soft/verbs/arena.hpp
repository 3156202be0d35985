// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The arena of this process (Arena: memfd, mapping, allocator) and the view of anybody's arena
/// (ArenaView: mapping and checked access).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "dapl/support/mutex.hpp"
#include "providers/soft/verbs/layout.hpp"

namespace softverbs {

/// A mapped arena, ours or a peer's. Does not own the mapping. Functions that take an offset or an
/// index answer nullptr when it lies outside: both may come from a peer.
class ArenaView {
  public:
    ArenaView() = default;
    explicit ArenaView(void* base) : base_(static_cast<std::uint8_t*>(base)) {}

    explicit operator bool() const { return base_ != nullptr; }
    ArenaHeader& header() const { return *reinterpret_cast<ArenaHeader*>(base_); }
    QpEntry& qp(std::uint32_t index) const {
        return reinterpret_cast<QpEntry*>(base_ + kQpTable)[index];
    }
    CqHeader* cq(std::uint32_t index) const;
    SrqHeader* srq(std::uint32_t index) const;
    /// @return the entry that the key names, whether or not it is valid.
    MrEntry& mr(std::uint32_t key) const {
        return reinterpret_cast<MrEntry*>(base_ + kMrTable)[key >> kKeyIndexShift];
    }
    /// @return the heap range as an array of T, nullptr when outside or misaligned.
    template <class T>
    T* array(std::uint64_t offset, std::uint64_t bytes) const {
        return reinterpret_cast<T*>(range(offset, bytes));
    }
    std::uint8_t* base() const { return base_; }
    /// @return place of a queue pair in the table, -1 when the arena does not hold its block.
    std::int64_t qp_index(std::uint32_t qp_num) const;

  private:
    std::uint8_t* range(std::uint64_t offset, std::uint64_t bytes) const;
    std::uint8_t* base_ = nullptr;
};

/// This process's arena. Thread safe.
class Arena {
  public:
    /// @return nullptr with errno set: no descriptors, no memory.
    static std::unique_ptr<Arena> create();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    int fd() const { return fd_; }
    ArenaView view() const { return ArenaView(base_); }

    /// Allocates the pages of a range, so that neither we nor a peer meets SIGBUS on a full
    /// machine.
    /// @return 0 or an errno.
    int publish(std::uint64_t offset, std::uint64_t bytes) EXCLUDES(mutex_);
    /// Zeroed heap memory, aligned to 64 bytes. @return its offset, 0 when the memory is not there.
    std::uint64_t allocate(std::uint64_t bytes) EXCLUDES(mutex_);
    void release(std::uint64_t offset, std::uint64_t bytes) EXCLUDES(mutex_);
    /// Bytes of the heap that are allocated and not released.
    std::uint64_t in_use() EXCLUDES(mutex_);

  private:
    Arena(int fd, void* base);
    int publish_locked(std::uint64_t offset, std::uint64_t bytes) REQUIRES(mutex_);

    const int fd_;
    void* const base_;
    support::Mutex mutex_;
    std::uint64_t heap_end_ GUARDED_BY(mutex_) = kHeap;
    std::uint64_t in_use_ GUARDED_BY(mutex_) = 0;
    std::vector<bool> published_ GUARDED_BY(mutex_);
    std::map<std::uint64_t, std::vector<std::uint64_t>> free_ GUARDED_BY(mutex_);
};

}  // namespace softverbs
