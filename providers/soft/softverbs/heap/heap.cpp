// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/heap/heap.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/heap/kernel.hpp"
#include "providers/soft/softverbs/heap/lock.hpp"
#include "providers/soft/softverbs/memory/page_file.hpp"

namespace softverbs::heap {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kLargestHeap = 4096 * kGiB, kSmallestHeap = kGiB / 64;
constexpr std::uint64_t kHugePage = 2 << 20;
constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::uint64_t whole_pages(std::uint64_t length) {
    return (length + kPage - 1) & ~(kPage - 1);
}

bool is_page(std::uint64_t address) {
    return address % kPage == 0;
}

int fail(int cause) {
    errno = cause;
    return -1;
}

void* fail_to_map(int cause) {
    errno = cause;
    return MAP_FAILED;
}

/// Under a limit of address space the heap takes a quarter of it and leaves the rest to the
/// process.
std::uint64_t wanted_size() {
    rlimit limit = {};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kLargestHeap;
    return std::min<std::uint64_t>(limit.rlim_cur / 4 & ~(kHugePage - 1), kLargestHeap);
}

/// Whether a mapping of this length can never be filled. For private memory the kernel then fails
/// with ENOMEM, for a file it does not.
bool exceeds_machine(std::uint64_t length) {
    struct sysinfo machine = {};
    if (length < kGiB || sysinfo(&machine) != 0) return false;
    return length / machine.mem_unit > machine.totalram + machine.totalswap;
}

/// Moves the descriptor out of the way of programs that expect their own from 3 on.
int out_of_the_way(int fd) {
    constexpr int kHighNumber = 1000;
    const int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighNumber);
    if (high < 0) return fd;
    syscall(SYS_close, fd);
    return high;
}

}  // namespace

/// Has no constructor: calls before open() find the heap closed.
Heap& Heap::of_process() {
    static constinit Heap heap;
    return heap;
}

/// Under a limit of file sizes the file could not get its size, and the attempt would raise
/// SIGXFSZ.
int Heap::make_file() {
    rlimit limit = {};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < kPageFileSize) return fail(EFBIG);
    return make_page_file();
}

bool Heap::reserve() {
    for (std::uint64_t size = wanted_size(); size >= kSmallestHeap; size /= 2) {
        void* range = kernel::map(nullptr, size, PROT_NONE, kReserved, -1, 0);
        if (range == MAP_FAILED) continue;
        begin_ = next_ = fresh_ = reinterpret_cast<std::uintptr_t>(range);
        size_ = size;
        return true;
    }
    return false;
}

void Heap::open() {
    const int file = make_file();
    if (file < 0) return;
    fd_ = out_of_the_way(file);
    if (areas_.open() && reserve()) return;
    syscall(SYS_close, fd_.exchange(-1));
}

bool Heap::move_descriptor() {
    const Lock lock(mutex_);
    const int moved = fcntl(fd_, F_DUPFD_CLOEXEC, fd_ + 1);
    const int other = moved >= 0 ? moved : fcntl(fd_, F_DUPFD_CLOEXEC, 3);
    if (other < 0) return false;
    syscall(SYS_close, fd_.exchange(other));
    return true;
}

void Heap::drop_pages(std::uint64_t begin, std::uint64_t end) {
    const int cause = errno;
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
              static_cast<off_t>(end - begin));
    errno = cause;
}

/// Finds a free place. Freed addresses are reused as late as possible, so that a use after free
/// hits nothing.
std::uint64_t Heap::find_place(std::uint64_t length) {
    const std::uint64_t alignment = length >= kHugePage ? kHugePage : kPage;
    const std::uint64_t end = begin_ + size_;
    std::uint64_t place = areas_.find_gap(next_, end, length, alignment);
    if (place == 0) place = areas_.find_gap(begin_, end, length, alignment);
    if (place != 0) next_ = place + length;
    return place;
}

/// Maps pages of the page file. Without one (fork.cpp), they are ordinary memory at the same
/// addresses.
void* Heap::map_pages(std::uint64_t address, std::uint64_t length, int protection, int flags) {
    constexpr int kTaken = MAP_POPULATE | MAP_LOCKED | MAP_NONBLOCK;
    const int ours = (flags & kTaken) | MAP_FIXED | MAP_NORESERVE;
    void* const place = kernel::pointer(address);
    if (fd_ < 0)
        return kernel::map(place, length, protection, ours | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return kernel::map(place, length, protection, ours | MAP_SHARED, fd_, address);
}

/// Drops what was there first, including anything that a peer wrote after it was freed.
bool Heap::map_here(std::uint64_t address, std::uint64_t length, int protection, int flags) {
    if (!areas_.has_room()) return fail(ENOMEM) == 0;
    const bool is_accessible = protection != PROT_NONE;
    if (!is_accessible || address < fresh_) {
        if (give_back(address, address + length) != 0) return false;
    }
    fresh_ = std::max(fresh_, address + length);
    if (is_accessible && map_pages(address, length, protection, flags) == MAP_FAILED) return false;
    areas_.put({address, address + length, is_accessible ? Kind::kFile : Kind::kReserved,
                static_cast<std::uint8_t>(protection), true, Inheritance::kCopied});
    return true;
}

void* Heap::map(std::uint64_t length, int protection, int flags) {
    length = whole_pages(length);
    if (length == 0 || length > size_ || (protection != PROT_NONE && exceeds_machine(length)))
        return fail_to_map(ENOMEM);
    const Lock lock(mutex_);
    const std::uint64_t place = find_place(length);
    if (place == 0) return fail_to_map(ENOMEM);
    return map_here(place, length, protection, flags) ? kernel::pointer(place) : MAP_FAILED;
}

void* Heap::map_fixed(std::uint64_t address, std::uint64_t length, int protection, int flags) {
    length = whole_pages(length);
    if (length == 0 || !is_page(address)) return fail_to_map(EINVAL);
    const Lock lock(mutex_);
    return map_here(address, length, protection, flags) ? kernel::pointer(address) : MAP_FAILED;
}

void* Heap::map_foreign(void* address, std::uint64_t length, int protection, int flags, int fd,
                        std::uint64_t offset) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t end = begin + whole_pages(length);
    const Lock lock(mutex_);
    if (!areas_.has_room()) return fail_to_map(ENOMEM);
    void* const mapped = kernel::map(address, length, protection, flags, fd, offset);
    if (mapped == MAP_FAILED) return mapped;
    drop_pages(begin, end);
    fresh_ = std::max(fresh_, end);
    areas_.put({begin, end, Kind::kForeign, static_cast<std::uint8_t>(protection), true,
                Inheritance::kCopied});
    return mapped;
}

/// Drops the pages; the addresses stay reserved.
int Heap::give_back(std::uint64_t begin, std::uint64_t end) {
    if (!areas_.has_room()) return fail(ENOMEM);
    if (kernel::map(kernel::pointer(begin), end - begin, PROT_NONE, kReserved | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return -1;
    drop_pages(begin, end);
    areas_.clear(begin, end);
    return 0;
}

int Heap::unmap(std::uint64_t address, std::uint64_t length) {
    length = whole_pages(length);
    if (length == 0 || !is_page(address)) return fail(EINVAL);
    const Lock lock(mutex_);
    return give_back(address, address + length);
}

int Heap::protect_area(Area area, int protection) {
    if (area.kind == Kind::kReserved && protection != PROT_NONE) {
        if (map_pages(area.begin, area.length(), protection, 0) == MAP_FAILED) return -1;
        if (!area.is_dumped) kernel::advise(area.begin, area.length(), MADV_DONTDUMP);
        area.kind = Kind::kFile;
    } else if (kernel::protect(area.begin, area.length(), protection) != 0) {
        return -1;
    }
    area.protection = static_cast<std::uint8_t>(protection);
    areas_.put(area);
    return 0;
}

int Heap::protect(std::uint64_t address, std::uint64_t length, int protection) {
    const std::uint64_t end = address + whole_pages(length);
    if (!is_page(address)) return fail(EINVAL);
    const Lock lock(mutex_);
    for (Area area; address < end; address = area.end) {
        if (!areas_.has_room() || !areas_.find(address, end, area)) return fail(ENOMEM);
        if (protect_area(area, protection) != 0) return -1;
    }
    return 0;
}

/// Records the advice for a child of fork(), which maps its pages anew.
int Heap::note_advice(std::uint64_t begin, std::uint64_t end, int advice) {
    for (Area area; begin < end; begin = area.end) {
        if (!areas_.has_room() || !areas_.find(begin, end, area)) return fail(ENOMEM);
        if (advice == MADV_DONTDUMP || advice == MADV_DODUMP)
            area.is_dumped = advice == MADV_DODUMP;
        else if (advice == MADV_DONTFORK)
            area.inheritance = Inheritance::kAbsent;
        else
            area.inheritance =
                advice == MADV_WIPEONFORK ? Inheritance::kWiped : Inheritance::kCopied;
        areas_.put(area);
    }
    return 0;
}

int Heap::advise(std::uint64_t address, std::uint64_t length, int advice) {
    const std::uint64_t end = address + whole_pages(length);
    if (!is_page(address)) return fail(EINVAL);
    const Lock lock(mutex_);
    switch (advice) {
        case MADV_FREE:  // the kernel has it for private memory only; may drop the pages at once
        case MADV_DONTNEED:
            if (kernel::advise(address, length, MADV_DONTNEED) != 0) return -1;
            for (Area area; address < end; address = area.end) {
                if (!areas_.find(address, end, area)) return fail(ENOMEM);
                if (area.kind == Kind::kFile) drop_pages(area.begin, area.end);
            }
            return 0;
        case MADV_DONTFORK:
        case MADV_DOFORK:
        case MADV_DONTDUMP:
        case MADV_DODUMP:
            if (kernel::advise(address, length, advice) != 0) return -1;
            return note_advice(address, end, advice);
        case MADV_WIPEONFORK:  // the kernel has these for private memory only
        case MADV_KEEPONFORK:
            return note_advice(address, end, advice);
        case MADV_REMOVE:  // the kernel has this one for shared memory only
            if (Area area; areas_.find(address, end, area) && area.kind == Kind::kForeign)
                return kernel::advise(address, length, advice);
            return fail(EINVAL);
        default:
            return kernel::advise(address, length, advice);
    }
}

std::uint64_t Heap::program_break() {
    const Lock lock(mutex_);
    if (break_begin_ != 0 || !is_open()) return break_;
    const std::uint64_t length = size_ / 8;
    const std::uint64_t place = areas_.find_gap(fresh_, begin_ + size_, length, kHugePage);
    if (place == 0 || !map_here(place, length, PROT_NONE, 0)) return 0;
    next_ = std::max(next_, place + length);
    break_begin_ = break_ = place;
    break_end_ = place + length;
    return break_;
}

int Heap::set_program_break(std::uint64_t address) {
    const Lock lock(mutex_);
    if (address < break_begin_ || address > break_end_) return fail(ENOMEM);
    const std::uint64_t now = whole_pages(break_), wanted = whole_pages(address);
    if (wanted > now && !exceeds_machine(wanted - now)) {
        if (!map_here(now, wanted - now, PROT_READ | PROT_WRITE, 0)) return fail(ENOMEM);
    } else if (wanted > now || (wanted < now && !map_here(wanted, now - wanted, PROT_NONE, 0))) {
        return fail(ENOMEM);
    }
    break_ = address;
    return 0;
}

bool Heap::covers(std::uint64_t begin, std::uint64_t end) {
    if (fd_ < 0 || begin >= end || !contains(begin, end - begin)) return false;
    const Lock lock(mutex_);
    for (Area area; begin < end; begin = area.end)
        if (!areas_.find(begin, end, area) || area.kind != Kind::kFile) return false;
    return true;
}

void Heap::released(std::uint64_t begin, std::uint64_t end) {
    if (fd_ < 0 || begin >= end || !contains(begin, end - begin)) return;
    const Lock lock(mutex_);
    for (std::uint64_t at = begin; at < end;) {
        Area area;
        if (areas_.find(at, end, area) && area.kind == Kind::kFile) {
            at = area.end;
            continue;
        }
        const std::size_t next = areas_.first_behind(at);
        std::uint64_t gap_end = end;
        if (next < areas_.count()) {
            const Area& behind = areas_[next];
            gap_end = std::min(end, behind.begin > at ? behind.begin : behind.end);
        }
        drop_pages(at, gap_end);
        at = gap_end;
    }
}

}  // namespace softverbs::heap
