// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Path S as the owner of the memory sees it: which pages of this process peers may map, who holds
/// them, and which part of a region that is. One object per process, which outlives the device:
/// memory that the library provides may be asked for before it is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "dapl/support/mutex.hpp"
#include "providers/soft/verbs/layout.hpp"
#include "providers/soft/verbs/memory_map.hpp"
#include "providers/soft/verbs/page_runs.hpp"

namespace softverbs {

/// What a region's entry says about its pages.
struct Placement {
    PageRange shared;  ///< whole pages of the region, or that it lies in
    PageReason reason = PageReason::kSmall;
    int file = -1;  ///< kFile, kUnsealed: a descriptor of ours, kept for the region
    std::uint64_t file_offset = 0;
    std::uint64_t file_device = 0;
    std::uint64_t file_inode = 0;

    void write_to(MrEntry& entry) const;
};

class SharedPages {
  public:
    static SharedPages& of_process();

    /// The process's page file. @return -1 with errno when there is none.
    int page_file() EXCLUDES(mutex_);
    /// Nobody has the device open any more: gives back the descriptors, unless memory needs them.
    void device_closed() EXCLUDES(mutex_);

    /// softverbs_memory_alloc and softverbs_memory_free. @return nullptr with errno.
    void* allocate(std::size_t size) EXCLUDES(mutex_);
    void free(void* memory) EXCLUDES(mutex_);

    /// A region is registered: decides the path of its pages, which it then holds. With the
    /// adapter's mutex; the region's key is not known to anybody yet.
    Placement hold(std::uint64_t address, std::uint64_t length) EXCLUDES(mutex_);
    /// It was deregistered, and no peer uses it any more. With the adapter's mutex.
    void release(std::uint64_t address, std::uint64_t length, const Placement& placement,
                 bool on_application_thread) EXCLUDES(mutex_);
    /// Exchanges pages of a region that is on path P because of kNotWorthIt. With the adapter's
    /// mutex and all queue pairs paused.
    Placement exchange(std::uint64_t address, std::uint64_t length, const Placement& now,
                       bool on_application_thread) EXCLUDES(mutex_);
    /// Whether exchange() would find permission. On kThreads a call from a thread of the
    /// application may fare better.
    PageReason exchange_verdict(bool on_application_thread) EXCLUDES(mutex_);

  private:
    struct Allocation {
        std::uint64_t length;
        bool freed = false;  ///< by the application, while regions held it
        bool shared = true;  ///< not so what a child of fork() got a copy of
    };
    using Allocations = std::map<std::uint64_t, Allocation>;

    int page_file_locked() REQUIRES(mutex_);
    /// @return the allocation that holds the address.
    Allocations::iterator allocation_of(std::uint64_t address) REQUIRES(mutex_);
    void discard(Allocations::iterator allocation) REQUIRES(mutex_);
    Placement decide(PageRange touched, PageRange whole) REQUIRES(mutex_);
    Placement decide_beside_others(const std::vector<PageRange>& shared) REQUIRES(mutex_);
    Placement exchange_ordinary(PageRange whole, bool on_application_thread) REQUIRES(mutex_);
    PageRange exchange_steps(PageRange pages, bool guarded) REQUIRES(mutex_);
    void restore(PageRange pages, bool on_application_thread) REQUIRES(mutex_);
    bool restore_steps(PageRange pages, bool guarded) REQUIRES(mutex_);
    PageRange ordinary_part(PageRange pages) REQUIRES(mutex_);
    std::vector<PageRange> pages_of_file(PageRange pages) REQUIRES(mutex_);

    // -- shared_pages_fork.cpp
    void watch_forks() REQUIRES(mutex_);
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void keep_apart(PageRange pages) REQUIRES(mutex_);

    support::Mutex mutex_;
    int page_file_ GUARDED_BY(mutex_) = -1;
    std::uint64_t page_file_inode_ GUARDED_BY(mutex_) = 0;
    MemoryMap memory_ GUARDED_BY(mutex_);
    Allocations allocations_ GUARDED_BY(mutex_);
    PageRuns runs_ GUARDED_BY(mutex_);
    /// Ordinary memory whose pages are those of the page file at present, held by a region or not
    /// given back yet.
    PageSet exchanged_ GUARDED_BY(mutex_);
    bool forks_watched_ GUARDED_BY(mutex_) = false;
    int copied_[2] GUARDED_BY(mutex_) = {-1, -1};  ///< pipe by which a child says that it is done
};

}  // namespace softverbs
