// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/arena/own_pages.hpp"

#include <sys/mman.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <new>

/// Defined in programs that are linked with ThreadSanitizer.
// NOLINTNEXTLINE(readability-identifier-naming): the sanitizer's
extern "C" [[gnu::weak]] void __tsan_acquire(void*);

namespace softverbs {

int OwnPages::allocate(std::size_t bytes) {
    void* const made =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return ENOMEM;
    begin_ = made;
    bytes_ = bytes;
    return 0;
}

int OwnPages::allocate_anywhere(std::size_t bytes) {
    constexpr std::uint64_t kLowest = std::uint64_t{1} << 33, kHighest = std::uint64_t{1} << 46;
    constexpr int kTries = 64;
    // ThreadSanitizer ends a program that maps pages at an address for which it has no shadow.
    if (&__tsan_acquire) return allocate(bytes);
    for (int i = 0; i < kTries; ++i) {
        std::uint64_t place = 0;
        if (getrandom(&place, sizeof place, 0) != sizeof place) break;
        place = (kLowest + place % (kHighest - kLowest)) & ~std::uint64_t{0xfff};
        void* const made = mmap(reinterpret_cast<void*>(place), bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (made == MAP_FAILED) continue;
        begin_ = made;
        bytes_ = bytes;
        return 0;
    }
    return allocate(bytes);
}

void OwnPages::leave_out_of_core() const {
    madvise(begin_, bytes_, MADV_DONTDUMP);
}

OwnPages::~OwnPages() {
    if (begin_) munmap(begin_, bytes_);
}

std::byte* TablePages::take(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    const std::size_t needed = (bytes + kPage - 1) / kPage * kPage;
    if (needed > step_) return map(needed);
    if (needed > left_) {
        next_ = map(step_);
        left_ = step_;
    }
    std::byte* const taken = next_;
    next_ += needed;
    left_ -= needed;
    return taken;
}

std::byte* TablePages::map(std::size_t bytes) {
    OwnPages& made = mappings_.emplace_back();
    if (made.allocate(bytes) != 0) throw std::bad_alloc();
    made.leave_out_of_core();
    return made.get();
}

}  // namespace softverbs
