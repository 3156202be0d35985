// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/transfers.hpp"

#include <algorithm>

#include "check/model/mapping.hpp"

// The program may write into a buffer while it is summed, which is what the sums are to find.
#define READS_WHAT_OTHERS_WRITE __attribute__((no_sanitize("address", "thread")))

namespace check {
namespace {

READS_WHAT_OTHERS_WRITE std::uint64_t word_at(const unsigned char* bytes) {
    std::uint64_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
    return word;
}

READS_WHAT_OTHERS_WRITE std::uint64_t mix(std::uint64_t sum, const unsigned char* bytes,
                                          std::size_t count) {
    constexpr std::uint64_t kFactor = 0x100000001b3;
    constexpr std::size_t kLanes = 4;
    constexpr std::size_t kStep = kLanes * sizeof(std::uint64_t);
    std::uint64_t lanes[kLanes] = {sum, 2, 3, 4};
    std::size_t at = 0;
    for (; at + kStep <= count; at += kStep)
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            lanes[lane] =
                (lanes[lane] ^ word_at(bytes + at + lane * sizeof(std::uint64_t))) * kFactor;
    for (; at < count; ++at) lanes[0] = (lanes[0] ^ bytes[at]) * kFactor;
    sum = count;
    for (const std::uint64_t lane : lanes) sum = (sum ^ (lane >> 29) ^ lane) * kFactor;
    return sum;
}

}  // namespace

bool sum_of(std::uint64_t memory, std::uint64_t length, std::uint64_t& sum) {
    const std::uint64_t head = std::min<std::uint64_t>(length, kSummedBytes);
    const std::uint64_t tail = std::min<std::uint64_t>(length - head, kSummedBytes);
    const std::uint64_t end = memory + length - tail;
    if ((head && !can_be_read(memory, head)) || (tail && !can_be_read(end, tail))) return false;
    sum = mix(1, reinterpret_cast<const unsigned char*>(memory), head);
    sum = mix(sum, reinterpret_cast<const unsigned char*>(end), tail);
    return true;
}

void Targets::add(const TransferList& list, Transfer& transfer) {
    for (int i = 0; i < transfer.pieces_count; ++i) {
        const Piece& piece = transfer.pieces[i];
        if (piece.is_target)
            targets_.emplace(piece.memory, Target{piece.memory + piece.length, &transfer, &list});
    }
}

void Targets::remove(const Transfer& transfer) {
    for (int i = 0; i < transfer.pieces_count; ++i) {
        const auto [first, last] = targets_.equal_range(transfer.pieces[i].memory);
        const auto known = std::find_if(
            first, last, [&](const auto& entry) { return entry.second.transfer == &transfer; });
        if (known != last) targets_.erase(known);
    }
}

Transfer* Targets::overlapping(std::uint64_t memory, std::uint64_t length,
                               const TransferList* list) const {
    // Targets rarely overlap each other, so few before these bytes can reach into them.
    constexpr int kLooks = 4;
    auto next = targets_.lower_bound(memory);
    for (int looks = 0; looks < kLooks && next != targets_.begin(); ++looks) --next;
    for (; next != targets_.end() && next->first < memory + length; ++next) {
        const Target& target = next->second;
        if (target.end > memory && (!list || target.list == list)) return target.transfer;
    }
    return nullptr;
}

}  // namespace check
