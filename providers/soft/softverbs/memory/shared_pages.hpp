// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S as the owner of the memory sees it: which memory of this process peers may map. Memory is
/// shared from birth or not at all: what the library provides, and files that the application
/// shares under a seal. The path of a page never changes while a region holds it. There is one
/// object per process, which outlives the device: memory may be allocated before the device is
/// opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "providers/soft/softverbs/arena/layout.hpp"
#include "providers/soft/softverbs/memory/memory_map.hpp"
#include "providers/soft/softverbs/memory/page_file.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// The part of a region's MrEntry that describes its pages.
struct Placement {
    PageRange shared;  ///< the pages of the region, or none
    PageReason reason = PageReason::kOrdinary;
    int file = -1;  ///< kFile: a descriptor of ours, kept for the region
    std::uint64_t file_offset = 0;
    std::uint64_t file_device = 0;
    std::uint64_t file_inode = 0;

    void write_to(MrEntry& entry) const;
};

class SharedPages {
  public:
    static SharedPages& of_process();

    /// Opens the process's page file if it is not open yet.
    /// @return its descriptor, or -1 with errno.
    int page_file() EXCLUDES(mutex_);
    /// Called when nobody has the device open any more: closes the descriptors, unless memory needs
    /// them.
    void device_closed() EXCLUDES(mutex_);

    /// The implementation of softverbs_memory_alloc and softverbs_memory_free.
    /// @return nullptr with errno.
    void* allocate(std::size_t size) EXCLUDES(mutex_);
    void free(void* memory) EXCLUDES(mutex_);

    /// Decides the path of the pages of a region that is being registered. Provided memory stays
    /// until the last region on it is gone. Called without the adapter's mutex, as this may
    /// allocate.
    Placement hold(std::uint64_t address, std::uint64_t length) EXCLUDES(mutex_);
    /// Undoes hold() for a region that was deregistered and that no peer uses any more.
    void release(std::uint64_t address, std::uint64_t length, const Placement& placement)
        EXCLUDES(mutex_);

  private:
    struct Allocation {
        std::uint64_t length;
        std::uint32_t regions = 0;  ///< number of regions that hold some of it
        bool freed = false;         ///< by the application, while regions held it
        bool shared = true;         ///< false in a child of fork(): it has a private copy
    };
    using Allocations = std::map<std::uint64_t, Allocation>;

    int page_file_locked() REQUIRES(mutex_);
    /// @return the first allocation that ends behind the address.
    Allocations::iterator first_behind(std::uint64_t address) REQUIRES(mutex_);
    /// Says how much of a range is provided memory.
    enum class Share { kNone, kSome, kAll };
    Share hold_allocations(PageRange pages) REQUIRES(mutex_);

    bool has_shared_file(PageRange pages) const;

    // -- shared_pages_fork.cpp
    void watch_forks() REQUIRES(mutex_);
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void keep_apart(PageRange pages) REQUIRES(mutex_);

    support::Mutex mutex_;
    int page_file_ GUARDED_BY(mutex_) = -1;
    MemoryMap memory_;  ///< opened and closed with mutex_ held
    Allocations allocations_ GUARDED_BY(mutex_);
    bool forks_watched_ GUARDED_BY(mutex_) = false;
    int copied_[2] GUARDED_BY(mutex_) = {-1,
                                         -1};  ///< pipe by which a child reports that it has copied
};

}  // namespace softverbs
