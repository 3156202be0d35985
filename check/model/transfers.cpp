// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/transfers.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace check {
namespace {

std::uint64_t mix(const unsigned char* bytes, std::size_t count) {
    constexpr std::uint64_t kFactor = 0x100000001b3;
    std::uint64_t lanes[4] = {1, 2, 3, 4};
    std::size_t at = 0;
    for (; at + sizeof lanes <= count; at += sizeof lanes) {
        std::uint64_t words[4];
        std::memcpy(words, bytes + at, sizeof words);
        for (int lane = 0; lane < 4; ++lane) lanes[lane] = (lanes[lane] ^ words[lane]) * kFactor;
    }
    for (; at < count; ++at) lanes[0] = (lanes[0] ^ bytes[at]) * kFactor;
    std::uint64_t sum = count;
    for (const std::uint64_t lane : lanes) sum = (sum ^ (lane >> 29) ^ lane) * kFactor;
    return sum;
}

}  // namespace

bool sum_of(std::uint64_t memory, std::uint64_t length, std::uint64_t& sum) {
    unsigned char bytes[2 * kSummedBytes];
    const std::size_t head = std::min<std::uint64_t>(length, kSummedBytes);
    const std::size_t tail = std::min<std::uint64_t>(length - head, kSummedBytes);
    // The kernel copies, since the program may have unmapped the buffer.
    const iovec to{bytes, head + tail};
    const iovec from[] = {{reinterpret_cast<void*>(memory), head},
                          {reinterpret_cast<void*>(memory + length - tail), tail}};
    const auto wanted = static_cast<ssize_t>(head + tail);
    if (process_vm_readv(getpid(), &to, 1, from, 2, 0) != wanted) return false;
    sum = mix(bytes, head + tail);
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
