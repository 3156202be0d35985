// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/shared_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <optional>

#include "providers/soft/softverbs/memory/heap_memory.hpp"
#include "providers/soft/softverbs/memory/shared_files.hpp"

namespace softverbs {
namespace {

void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}

PageRange touched_pages(std::uint64_t address, std::uint64_t length) {
    return {address & ~(kPage - 1), (address + length + kPage - 1) & ~(kPage - 1)};
}

/// Reserves address space, then maps the same addresses from the page file.
/// @return nullptr with errno.
void* map_from(int page_file, std::uint64_t length) {
    void* place =
        mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return nullptr;
    void* memory =
        mmap(place, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             page_file, static_cast<off_t>(reinterpret_cast<std::uintptr_t>(place)));
    if (memory != MAP_FAILED) return memory;
    const int cause = errno;
    munmap(place, length);
    errno = cause;
    return nullptr;
}

bool is_shared_file(const Mapping& mapping) {
    return mapping.shared && mapping.inode != 0;
}

}  // namespace

void Placement::write_to(MrEntry& entry) const {
    entry.shared_begin = shared.begin;
    entry.shared_end = shared.end;
    entry.reason = reason;
    entry.file = file;
    entry.file_offset = file_offset;
    entry.file_device = file_device;
    entry.file_inode = file_inode;
}

/// Never destroyed: other threads may still run while the process exits.
SharedPages& SharedPages::of_process() {
    alignas(SharedPages) static std::byte storage[sizeof(SharedPages)];
    static SharedPages* const made = new (storage) SharedPages;
    return *made;
}

int SharedPages::page_file() {
    support::MutexLock lock(mutex_);
    return page_file_locked();
}

int SharedPages::page_file_locked() {
    if (page_file_ >= 0) return page_file_;
    page_file_ = open_page_file();
    if (page_file_ < 0) return -1;
    memory_.open();
    watch_forks();
    return page_file_;
}

void SharedPages::device_closed() {
    support::MutexLock lock(mutex_);
    if (page_file_ < 0 || !allocations_.empty()) return;
    close(page_file_);
    page_file_ = -1;
    memory_.close();
}

void* SharedPages::allocate(std::size_t size) {
    const std::uint64_t length = (size + kPage - 1) & ~(kPage - 1);
    if (size == 0 || length < size) {
        errno = size == 0 ? EINVAL : ENOMEM;
        return nullptr;
    }
    // The node is made and filled before the lock is taken, as malloc may call this class.
    Allocations made;
    made.emplace(0, Allocation{length});
    auto node = made.extract(made.begin());
    support::MutexLock lock(mutex_);
    if (page_file_locked() < 0) return nullptr;
    void* const memory = map_from(page_file_, length);
    if (!memory) return nullptr;
    node.key() = reinterpret_cast<std::uintptr_t>(memory);
    allocations_.insert(std::move(node));
    return memory;
}

namespace {

/// Unmaps memory that nobody holds any more, and frees its pages in the page file.
void unmap(int page_file, PageRange pages, bool shared) {
    munmap(pointer(pages.begin), pages.length());
    if (shared) discard_pages(page_file, pages);
}

}  // namespace

void SharedPages::free(void* memory) {
    if (!memory) return;
    Allocations::node_type ended;  // freed after the lock is released
    support::MutexLock lock(mutex_);
    const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == allocations_.end()) return;
    Allocation& allocation = found->second;
    allocation.freed = true;
    if (allocation.regions != 0) return;
    unmap(page_file_, {found->first, found->first + allocation.length}, allocation.shared);
    ended = allocations_.extract(found);
}

SharedPages::Allocations::iterator SharedPages::first_behind(std::uint64_t address) {
    auto next = allocations_.upper_bound(address);
    if (next == allocations_.begin()) return next;
    const auto before = std::prev(next);
    return address < before->first + before->second.length ? before : next;
}

SharedPages::Share SharedPages::hold_allocations(PageRange pages) {
    std::uint64_t covered = pages.begin;
    bool any = false;
    for (auto at = first_behind(pages.begin); at != allocations_.end() && at->first < pages.end;
         ++at) {
        ++at->second.regions;
        if (!at->second.shared) continue;
        any = true;
        if (at->first <= covered) covered = at->first + at->second.length;
    }
    if (!any) return Share::kNone;
    return covered >= pages.end ? Share::kAll : Share::kSome;
}

bool SharedPages::has_shared_file(PageRange pages) const {
    for (std::uint64_t at = pages.begin; at < pages.end;) {
        const std::optional<Mapping> mapping = memory_.find(at);
        if (mapping && is_shared_file(*mapping)) return true;
        at = mapping ? mapping->end : at + kPage;
    }
    return false;
}

Placement SharedPages::hold(std::uint64_t address, std::uint64_t length) {
    const PageRange touched = touched_pages(address, length);
    if (const auto* heap = shared_heap(); heap && heap->covers(touched.begin, touched.end))
        return {touched, PageReason::kHeap};
    Share share;
    {
        support::MutexLock lock(mutex_);
        share = hold_allocations(touched);
    }
    if (share == Share::kAll) return {touched, PageReason::kProvided};
    if (share == Share::kSome) return {{}, PageReason::kMixed};
    const std::optional<Mapping> mapping = memory_.find(touched.begin);
    if (!mapping) return {};
    if (is_shared_file(*mapping)) return place_in_file(*mapping, touched);
    if (has_shared_file({mapping->end, touched.end})) return {{}, PageReason::kMixed};
    return {{}, mapping->inode == 0 ? PageReason::kOrdinary : PageReason::kNotPrivate};
}

void SharedPages::release(std::uint64_t address, std::uint64_t length, const Placement& placement) {
    const PageRange touched = touched_pages(address, length);
    if (placement.file >= 0) close(placement.file);
    if (placement.reason == PageReason::kHeap) shared_heap()->released(touched.begin, touched.end);
    Allocations ended;  // freed after the lock is released
    support::MutexLock lock(mutex_);
    auto at = first_behind(touched.begin);
    while (at != allocations_.end() && at->first < touched.end) {
        const auto held = at++;
        Allocation& allocation = held->second;
        // 0 in a child of fork(): the regions are not the child's.
        if (allocation.regions == 0 || --allocation.regions != 0 || !allocation.freed) continue;
        unmap(page_file_, {held->first, held->first + allocation.length}, allocation.shared);
        ended.insert(allocations_.extract(held));
    }
}

}  // namespace softverbs
