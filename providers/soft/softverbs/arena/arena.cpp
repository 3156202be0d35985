// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/arena/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

namespace softverbs {
namespace {

/// Pages are allocated in steps of this size.
constexpr std::uint64_t kChunk = 64 << 10;

/// Rounds a size up to one of four classes per power of two, so that freed blocks fit later
/// requests.
std::uint64_t size_class(std::uint64_t bytes) {
    std::uint64_t step = 64;
    while (bytes > step * 8) step *= 2;
    return (bytes + step - 1) / step * step;
}

/// Returns the size to try first: kArenaSize, or about an eighth of RLIMIT_AS, which leaves most
/// addresses to the arenas of peers and to the program.
std::uint64_t wanted_size() {
    constexpr std::uint64_t kShare = 8;
    rlimit limit = {};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kArenaSize;
    const std::uint64_t share = std::bit_floor(std::uint64_t{limit.rlim_cur} / kShare);
    return std::clamp(share, kSmallestArena, kArenaSize);
}

/// Creates the arena's memfd. @return its descriptor, or -1 with errno.
int make_file(std::uint64_t size) {
    const int fd = memfd_create("softverbs-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    if (ftruncate(fd, static_cast<off_t>(size)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    const int cause = errno;
    close(fd);
    errno = cause;
    return -1;
}

}  // namespace

CqHeader* ArenaView::cq(std::uint32_t index) const {
    return index < kMaxCqs ? reinterpret_cast<CqHeader*>(base_ + kCqTable) + index : nullptr;
}

SrqHeader* ArenaView::srq(std::uint32_t index) const {
    return index < kMaxSrqs ? reinterpret_cast<SrqHeader*>(base_ + kSrqTable) + index : nullptr;
}

std::uint8_t* ArenaView::range(std::uint64_t offset, std::uint64_t bytes) const {
    const bool inside = offset >= kHeap && offset <= size_ && bytes <= size_ - offset;
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
    std::unique_ptr<Arena> arena(new Arena);
    int cause = ENOMEM;
    for (std::uint64_t size = wanted_size(); cause == ENOMEM && size >= kSmallestArena; size /= 2)
        cause = arena->map(size);
    if (cause == 0) cause = arena->begin();
    if (cause == 0) return arena;
    arena.reset();
    errno = cause;
    return nullptr;
}

/// @return 0 or an errno.
int Arena::map(std::uint64_t size) {
    file_.reset(make_file(size));
    if (!file_.valid()) return errno;
    void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd(), 0);
    if (base == MAP_FAILED) return errno;
    view_ = ArenaView(base, size);
    madvise(base, size, MADV_DONTDUMP);
    return 0;
}

int Arena::begin() {
    std::vector<bool> published(view_.size() / kChunk);
    {
        support::MutexLock lock(pages_mutex_);
        published_.swap(published);
    }
    if (const int cause = publish(0, sizeof(ArenaHeader))) return cause;
    ArenaHeader& header = view_.header();
    header.size = view_.size();
    header.nonce_address = reinterpret_cast<std::uintptr_t>(&header.nonce);
    if (getrandom(&header.nonce, sizeof header.nonce, 0) != sizeof header.nonce) return errno;
    header.owner = getpid();
    header.magic = kArenaMagic;
    return 0;
}

Arena::~Arena() {
    if (view_) munmap(view_.base(), view_.size());
}

int Arena::publish(std::uint64_t offset, std::uint64_t bytes) {
    support::MutexLock lock(pages_mutex_);
    for (std::uint64_t chunk = offset / kChunk; chunk * kChunk < offset + bytes; ++chunk) {
        if (published_[chunk]) continue;
        int cause;
        do {
            cause = fallocate(fd(), 0, static_cast<off_t>(chunk * kChunk), kChunk) ? errno : 0;
        } while (cause == EINTR);
        if (cause) return cause == ENOSPC ? ENOMEM : cause;
        published_[chunk] = true;
    }
    return 0;
}

std::uint64_t Arena::allocate(std::uint64_t bytes) {
    support::MutexLock lock(mutex_);
    const std::uint64_t size = size_class(bytes);
    Blocks& blocks = blocks_[size];
    if (!blocks.free.empty()) {
        const std::uint64_t offset = blocks.free.back();
        if (publish(offset, size)) return 0;
        blocks.free.pop_back();
        in_use_ += size;
        std::memset(view_.base() + offset, 0, size);
        return offset;
    }
    if (size > view_.size() - heap_end_ || publish(heap_end_, size)) return 0;
    if (blocks.free.capacity() <= blocks.made) blocks.free.reserve(2 * blocks.made + 8);
    ++blocks.made;
    const std::uint64_t offset = heap_end_;
    heap_end_ += size;
    in_use_ += size;
    return offset;
}

std::uint64_t Arena::in_use() {
    support::MutexLock lock(mutex_);
    return in_use_;
}

/// Returns whole chunks to the system. There is no valid reference left, since requesters have been
/// waited for; a misbehaving one reads zeros.
void Arena::release(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t size = size_class(bytes);
    discard((offset + kChunk - 1) / kChunk, (offset + size) / kChunk);
    support::MutexLock lock(mutex_);
    blocks_[size].free.push_back(offset);
    in_use_ -= size;
}

void Arena::discard(std::uint64_t first, std::uint64_t last) {
    support::MutexLock lock(pages_mutex_);
    for (std::uint64_t chunk = first; chunk < last; ++chunk) {
        if (fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(chunk * kChunk), kChunk) == 0) {
            published_[chunk] = false;
        }
    }
}

}  // namespace softverbs
