// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/shared_pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "providers/soft/verbs/exchange_rules.hpp"
#include "providers/soft/verbs/page_exchange.hpp"
#include "providers/soft/verbs/page_file.hpp"
#include "providers/soft/verbs/shared_files.hpp"

namespace softverbs {
namespace {

void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}

PageRange touched_pages(std::uint64_t address, std::uint64_t length) {
    return {address & ~(kPage - 1), (address + length + kPage - 1) & ~(kPage - 1)};
}

PageRange whole_pages(std::uint64_t address, std::uint64_t length) {
    return {(address + kPage - 1) & ~(kPage - 1), (address + length) & ~(kPage - 1)};
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
    page_file_ = make_page_file();
    struct stat status = {};
    if (page_file_ < 0 || fstat(page_file_, &status) != 0) return -1;
    page_file_inode_ = status.st_ino;
    memory_.open();
    watch_forks();
    return page_file_;
}

void SharedPages::device_closed() {
    support::MutexLock lock(mutex_);
    if (page_file_ < 0 || !allocations_.empty() || !exchanged_.empty()) return;
    close(page_file_);
    page_file_ = -1;
    memory_.close();
}

/// Address space first, then the same addresses from the page file.
void* SharedPages::allocate(std::size_t size) {
    const std::uint64_t length = (size + kPage - 1) & ~(kPage - 1);
    if (size == 0 || length < size) {
        errno = size == 0 ? EINVAL : ENOMEM;
        return nullptr;
    }
    support::MutexLock lock(mutex_);
    if (page_file_locked() < 0) return nullptr;
    void* place =
        mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    void* memory =
        mmap(place, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             page_file_, static_cast<off_t>(address));
    if (memory == MAP_FAILED) {
        const int cause = errno;
        munmap(place, length);
        errno = cause;
        return nullptr;
    }
    allocations_.emplace(address, Allocation{length});
    return memory;
}

void SharedPages::free(void* memory) {
    if (!memory) return;
    support::MutexLock lock(mutex_);
    const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == allocations_.end()) return;
    found->second.freed = true;
    discard(found);
}

SharedPages::Allocations::iterator SharedPages::allocation_of(std::uint64_t address) {
    auto next = allocations_.upper_bound(address);
    if (next == allocations_.begin()) return allocations_.end();
    const auto found = std::prev(next);
    return address < found->first + found->second.length ? found : allocations_.end();
}

/// Memory that was freed while regions held it goes with the last of them.
void SharedPages::discard(Allocations::iterator allocation) {
    const PageRange pages{allocation->first, allocation->first + allocation->second.length};
    if (!allocation->second.freed || !runs_.held(pages, true).empty() ||
        !runs_.held(pages, false).empty())
        return;
    munmap(pointer(pages.begin), pages.length());
    if (allocation->second.shared) discard_pages(page_file_, pages);
    allocations_.erase(allocation);
}

/// Pages that other regions have on path S stay there; what is around them goes on path P.
Placement SharedPages::decide_beside_others(const std::vector<PageRange>& shared) {
    if (shared.size() == 1) return {shared.front(), PageReason::kExchanged};
    return {{}, PageReason::kMixed};
}

Placement SharedPages::decide(PageRange touched, PageRange whole) {
    const auto allocation = allocation_of(touched.begin);
    if (allocation != allocations_.end() && allocation->second.shared &&
        touched.end <= allocation->first + allocation->second.length) {
        return {touched, PageReason::kProvided};
    }
    const std::vector<PageRange> shared = exchanged_.within(touched);
    if (!shared.empty()) return decide_beside_others(shared);
    const SharedPagesSetting setting = shared_pages_setting();
    if (setting == SharedPagesSetting::kNever) return {{}, PageReason::kNever};
    const std::optional<Mapping> mapping = memory_.find(touched.begin);
    if (mapping && mapping->shared && mapping->inode != 0)
        return place_in_file(*mapping, touched, setting == SharedPagesSetting::kAlways);
    if (whole.empty()) return {};
    if (setting == SharedPagesSetting::kAlways) {
        if (!runs_.held(whole, false).empty()) return {{}, PageReason::kOverlap};
        return exchange_ordinary(whole, true);
    }
    return {{}, mapping && mapping->inode == 0 ? PageReason::kNotWorthIt : PageReason::kNotPrivate};
}

Placement SharedPages::hold(std::uint64_t address, std::uint64_t length) {
    const PageRange touched = touched_pages(address, length);
    support::MutexLock lock(mutex_);
    // What could not be given back earlier, and what the application has put other pages over.
    for (const PageRange& left : exchanged_.within(touched)) {
        if (runs_.held(left, true).empty()) restore(left, true);
    }
    const Placement placement = decide(touched, whole_pages(address, length));
    runs_.hold(placement.shared, true);
    if (placement.shared.empty()) {
        runs_.hold(touched, false);
    } else {
        runs_.hold({touched.begin, placement.shared.begin}, false);
        runs_.hold({placement.shared.end, touched.end}, false);
    }
    return placement;
}

void SharedPages::release(std::uint64_t address, std::uint64_t length, const Placement& placement,
                          bool on_application_thread) {
    const PageRange touched = touched_pages(address, length);
    if (placement.file >= 0) close(placement.file);
    support::MutexLock lock(mutex_);
    for (const PageRange& freed : runs_.release(touched)) {
        for (const PageRange& pages : exchanged_.within(freed))
            restore(pages, on_application_thread);
    }
    const auto allocation = allocation_of(touched.begin);
    if (allocation != allocations_.end()) discard(allocation);
}

}  // namespace softverbs
