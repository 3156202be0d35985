// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/pattern.hpp"

#include <cstring>

namespace dtest {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kEveryByte = 0x0101010101010101;

/// The mixing steps of splitmix64: neighbouring indices give unrelated words.
std::uint64_t mix(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    return x ^ (x >> 31);
}

std::uint64_t word(const Pattern& pattern, std::uint64_t index) {
    return mix(index + 1 + (pattern.stream << 48)) ^ ((pattern.round & 0xff) * kEveryByte);
}

/// Calls use(offset, length, word) for each piece of at most one word. The piece consists of the
/// first `length` bytes of `word`. Stops when use() returns false.
template <class Use>
void for_each_piece(const Pattern& pattern, std::size_t length, std::uint64_t position, Use use) {
    for (std::size_t offset = 0; offset < length;) {
        const std::size_t skip = (position + offset) % kWord;
        const std::size_t piece = length - offset < kWord - skip ? length - offset : kWord - skip;
        std::uint64_t bytes = word(pattern, (position + offset) / kWord);
        if (skip != 0) {
            unsigned char shifted[kWord] = {};
            std::memcpy(shifted, reinterpret_cast<unsigned char*>(&bytes) + skip, kWord - skip);
            std::memcpy(&bytes, shifted, kWord);
        }
        if (!use(offset, piece, bytes)) return;
        offset += piece;
    }
}

void write(const Pattern& pattern, void* memory, std::size_t length, std::uint64_t position,
           std::uint64_t invert) {
    auto* target = static_cast<unsigned char*>(memory);
    for_each_piece(pattern, length, position,
                   [&](std::size_t offset, std::size_t piece, std::uint64_t bytes) {
                       bytes ^= invert;
                       // With a constant length, nearly all pieces take a single store.
                       if (piece == kWord) {
                           std::memcpy(target + offset, &bytes, kWord);
                       } else {
                           std::memcpy(target + offset, &bytes, piece);
                       }
                       return true;
                   });
}

}  // namespace

unsigned char Pattern::at(std::uint64_t position) const {
    unsigned char byte;
    fill(&byte, 1, position);
    return byte;
}

void Pattern::fill(void* memory, std::size_t length, std::uint64_t position) const {
    write(*this, memory, length, position, 0);
}

void Pattern::poison(void* memory, std::size_t length, std::uint64_t position) const {
    write(*this, memory, length, position, ~std::uint64_t{0});
}

std::optional<std::size_t> Pattern::first_difference(const void* memory, std::size_t length,
                                                     std::uint64_t position) const {
    const auto* found = static_cast<const unsigned char*>(memory);
    std::optional<std::size_t> result;
    for_each_piece(*this, length, position,
                   [&](std::size_t offset, std::size_t piece, std::uint64_t bytes) {
                       std::uint64_t there = 0;
                       if (piece == kWord) {
                           std::memcpy(&there, found + offset, kWord);
                           if (there == bytes) return true;
                       }
                       const auto* expected = reinterpret_cast<const unsigned char*>(&bytes);
                       for (std::size_t i = 0; i < piece; ++i) {
                           if (found[offset + i] == expected[i]) continue;
                           result = offset + i;
                           return false;
                       }
                       return true;
                   });
    return result;
}

}  // namespace dtest
