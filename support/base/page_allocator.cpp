// SPDX-License-Identifier: BSD-2-Clause
#include "support/base/page_allocator.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <new>

namespace support {
namespace {

/// As large as what malloc() maps by itself, so that no small gap that a program has left in its
/// memory is filled. Pages that are not written take no memory.
constexpr std::size_t kSmallest = 128 << 10;
constexpr std::size_t kSizes = 16;

struct Block {
    Block* next;
};
/// Blocks that have been given back, by size: powers of two from kSmallest on.
std::array<Block*, kSizes> kept;
std::atomic_flag kept_is_taken;

/// Guards `kept`. Nobody waits for it: who does not get it does without. So a child of fork() does
/// not wait for a thread that is its parent's.
class Guard {
  public:
    Guard() : has_it_(!kept_is_taken.test_and_set(std::memory_order_acquire)) {}
    ~Guard() {
        if (has_it_) kept_is_taken.clear(std::memory_order_release);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    explicit operator bool() const { return has_it_; }

  private:
    const bool has_it_;
};

std::size_t size_for(std::size_t bytes) {
    return bytes <= kSmallest ? kSmallest : std::bit_ceil(bytes);
}

std::size_t place_of(std::size_t size) {
    return static_cast<std::size_t>(std::countr_zero(size) - std::countr_zero(kSmallest));
}

}  // namespace

void* take_pages(std::size_t bytes) {
    const std::size_t size = size_for(bytes), place = place_of(size);
    if (const Guard guard; guard && place < kSizes && kept[place]) {
        Block* const block = kept[place];
        kept[place] = block->next;
        return block;
    }
    void* const made =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    return made;
}

void give_pages_back(void* pages, std::size_t bytes) {
    const std::size_t size = size_for(bytes), place = place_of(size);
    if (const Guard guard; guard && place < kSizes) {
        kept[place] = new (pages) Block{kept[place]};
        return;
    }
    munmap(pages, size);
}

}  // namespace support
