// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace softverbs {
namespace {

/// Pages are allocated in steps of this size.
constexpr std::uint64_t kChunk = 64 << 10;

/// Sizes with few steps, so that freed memory fits what is asked next: four to each power of two.
std::uint64_t size_class(std::uint64_t bytes) {
    std::uint64_t step = 64;
    while (bytes > step * 8) step *= 2;
    return (bytes + step - 1) / step * step;
}

}  // namespace

CqHeader* ArenaView::cq(std::uint32_t index) const {
    return index < kMaxCqs ? reinterpret_cast<CqHeader*>(base_ + kCqTable) + index : nullptr;
}

SrqHeader* ArenaView::srq(std::uint32_t index) const {
    return index < kMaxSrqs ? reinterpret_cast<SrqHeader*>(base_ + kSrqTable) + index : nullptr;
}

std::uint8_t* ArenaView::range(std::uint64_t offset, std::uint64_t bytes) const {
    const bool inside = offset >= kHeap && offset <= kArenaSize && bytes <= kArenaSize - offset;
    return inside && offset % 64 == 0 ? base_ + offset : nullptr;
}

std::int64_t ArenaView::qp_index(std::uint32_t qp_num) const {
    const std::uint32_t wanted = qp_num / kQpsPerBlock + 1;
    for (std::uint32_t i = 0; i < kMaxQpBlocks; ++i) {
        const std::uint32_t found = header().qp_blocks[i].load(std::memory_order_acquire);
        if (found == wanted) return std::int64_t{i} * kQpsPerBlock + qp_num % kQpsPerBlock;
        if (found == 0) break;
    }
    return -1;
}

std::unique_ptr<Arena> Arena::create() {
    const int fd = memfd_create("softverbs-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return nullptr;
    void* base = MAP_FAILED;
    const bool sized = ftruncate(fd, kArenaSize) == 0 &&
                       fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    if (sized) base = mmap(nullptr, kArenaSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        const int cause = errno;
        close(fd);
        errno = cause;
        return nullptr;
    }
    std::unique_ptr<Arena> arena(new Arena(fd, base));
    if (const int cause = arena->publish(0, sizeof(ArenaHeader))) {
        errno = cause;
        return nullptr;
    }
    ArenaHeader& header = arena->view().header();
    header.size = kArenaSize;
    header.nonce_address = reinterpret_cast<std::uintptr_t>(&header.nonce);
    if (getrandom(&header.nonce, sizeof header.nonce, 0) != sizeof header.nonce) return nullptr;
    header.owner = getpid();
    header.magic = kArenaMagic;
    return arena;
}

Arena::Arena(int fd, void* base) : fd_(fd), base_(base), published_(kArenaSize / kChunk) {}

Arena::~Arena() {
    munmap(base_, kArenaSize);
    close(fd_);
}

int Arena::publish(std::uint64_t offset, std::uint64_t bytes) {
    support::MutexLock lock(mutex_);
    return publish_locked(offset, bytes);
}

int Arena::publish_locked(std::uint64_t offset, std::uint64_t bytes) {
    for (std::uint64_t chunk = offset / kChunk; chunk * kChunk < offset + bytes; ++chunk) {
        if (published_[chunk]) continue;
        int cause;
        do {
            cause = fallocate(fd_, 0, static_cast<off_t>(chunk * kChunk), kChunk) ? errno : 0;
        } while (cause == EINTR);
        if (cause) return cause == ENOSPC ? ENOMEM : cause;
        published_[chunk] = true;
    }
    return 0;
}

std::uint64_t Arena::allocate(std::uint64_t bytes) {
    support::MutexLock lock(mutex_);
    const std::uint64_t size = size_class(bytes);
    if (auto& list = free_[size]; !list.empty()) {
        const std::uint64_t offset = list.back();
        if (publish_locked(offset, size)) return 0;
        list.pop_back();
        in_use_ += size;
        std::memset(static_cast<std::uint8_t*>(base_) + offset, 0, size);
        return offset;
    }
    if (size > kArenaSize - heap_end_ || publish_locked(heap_end_, size)) return 0;
    const std::uint64_t offset = heap_end_;
    heap_end_ += size;
    in_use_ += size;
    return offset;
}

std::uint64_t Arena::in_use() {
    support::MutexLock lock(mutex_);
    return in_use_;
}

/// Whole chunks go back to the system. Nobody holds a valid reference by now: requesters were
/// waited for. One that misbehaves meets zeros.
void Arena::release(std::uint64_t offset, std::uint64_t bytes) {
    support::MutexLock lock(mutex_);
    const std::uint64_t size = size_class(bytes);
    const std::uint64_t first = (offset + kChunk - 1) / kChunk;
    const std::uint64_t last = (offset + size) / kChunk;
    for (std::uint64_t chunk = first; chunk < last; ++chunk) {
        if (fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(chunk * kChunk), kChunk) == 0) {
            published_[chunk] = false;
        }
    }
    free_[size].push_back(offset);
    in_use_ -= size;
}

}  // namespace softverbs
