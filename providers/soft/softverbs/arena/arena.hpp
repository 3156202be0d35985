// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The arena of this process (Arena: memfd, mapping, allocator) and a view of any process's arena
/// (ArenaView: mapping and checked access).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "providers/soft/softverbs/arena/layout.hpp"
#include "providers/soft/softverbs/fabric/result.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// A mapped arena, ours or a peer's. Does not own the mapping. Functions that return a pointer
/// return nullptr for an offset or index out of range: both may come from a peer.
class ArenaView {
  public:
    ArenaView() = default;
    /// @param size number of mapped bytes; satisfies is_arena_size().
    ArenaView(void* base, std::uint64_t size)
        : base_(static_cast<std::uint8_t*>(base)), size_(size) {}

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
    /// @return the heap range as an array of T, nullptr when it is out of range or misaligned.
    template <class T>
    T* array(std::uint64_t offset, std::uint64_t bytes) const {
        return reinterpret_cast<T*>(range(offset, bytes));
    }
    std::uint8_t* base() const { return base_; }
    std::uint64_t size() const { return size_; }
    /// @return index of a queue pair in the table, -1 when the arena does not have its block.
    std::int64_t qp_index(std::uint32_t qp_num) const;

  private:
    std::uint8_t* range(std::uint64_t offset, std::uint64_t bytes) const;
    std::uint8_t* base_ = nullptr;
    std::uint64_t size_ = 0;
};

/// This process's arena. Thread safe.
class Arena {
  public:
    /// Creates an arena, as large as the limit of address space allows.
    /// @return nullptr with errno when there are no descriptors or no memory.
    static std::unique_ptr<Arena> create();
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    int fd() const { return file_.get(); }
    ArenaView view() const { return view_; }

    /// Allocates the pages of a range, so that neither this process nor a peer gets SIGBUS when the
    /// machine is out of memory.
    /// @return 0 or an errno.
    int publish(std::uint64_t offset, std::uint64_t bytes) EXCLUDES(pages_mutex_);
    /// Allocates zeroed heap memory, aligned to 64 bytes.
    /// @return its offset, 0 when there is no memory.
    std::uint64_t allocate(std::uint64_t bytes) EXCLUDES(mutex_);
    void release(std::uint64_t offset, std::uint64_t bytes) EXCLUDES(mutex_);
    /// Bytes of the heap that are allocated and not released.
    std::uint64_t in_use() EXCLUDES(mutex_);

  private:
    Arena() = default;
    int map(std::uint64_t size);
    int begin();
    void discard(std::uint64_t first, std::uint64_t last) EXCLUDES(pages_mutex_);

    UniqueFd file_;
    ArenaView view_;
    support::Mutex mutex_;
    std::uint64_t heap_end_ GUARDED_BY(mutex_) = kHeap;
    std::uint64_t in_use_ GUARDED_BY(mutex_) = 0;
    /// Lock order: after mutex_. Nothing is allocated or freed under it, because registering memory
    /// takes it, and the program's malloc() may register memory.
    support::Mutex pages_mutex_;
    std::vector<bool> published_ GUARDED_BY(pages_mutex_);
    /// Blocks of one size. `free` has capacity for all that were ever made, so that a release needs
    /// no memory.
    struct Blocks {
        std::vector<std::uint64_t> free;
        std::size_t made = 0;
    };
    std::map<std::uint64_t, Blocks> blocks_ GUARDED_BY(mutex_);
};

}  // namespace softverbs
