// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace check {
namespace {

constexpr std::size_t kSmallest = 16;
constexpr std::size_t kChunk = std::size_t{256} << 10;

int class_of(std::size_t bytes) {
    return std::bit_width((std::max(bytes, kSmallest) - 1) / kSmallest);
}

}  // namespace

void* map_pages(std::size_t bytes) {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return pages;
}

void* Arena::take(std::size_t bytes) {
    const int size_class = class_of(bytes);
    if (Block* block = free_[size_class]) {
        free_[size_class] = block->next;
        return block;
    }
    const std::size_t size = kSmallest << size_class;
    if (size > kChunk) return map_pages(size);
    if (size > rest_bytes_) {
        rest_ = static_cast<char*>(map_pages(kChunk));
        rest_bytes_ = kChunk;
    }
    rest_bytes_ -= size;
    return rest_ + rest_bytes_;
}

void Arena::give_back(void* block, std::size_t bytes) {
    Block*& first = free_[class_of(bytes)];
    first = new (block) Block{first};
}

}  // namespace check
