// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The table of the opcodes of send requests: it says of each which properties it has.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softverbs {

/// The properties of an opcode.
enum Trait : std::uint8_t {
    kSupported = 1,
    kLocal = 2,  ///< needs no peer
    kAtomic = 4,
    kNeedsAnswer = 8,  ///< an answer with data
    kInlineable = 16,
    kNamesMemory = 32,  ///< at the other end
    kDirect = 64,       ///< may take the direct path of a post (direct_post.cpp)
};
struct Kind {
    std::uint8_t traits = 0;
    std::uint8_t completion = 0;  ///< ibv_wc_opcode

    constexpr bool has(Trait trait) const { return (traits & trait) != 0; }
};
struct Kinds {
    static constexpr unsigned kCount = 16;
    Kind of[kCount]{};

    constexpr Kinds() {
        constexpr unsigned kSend = kSupported | kInlineable;
        constexpr unsigned kWrite = kSupported | kInlineable | kNamesMemory;
        constexpr unsigned kRead = kSupported | kNeedsAnswer | kNamesMemory;
        set(IBV_WR_RDMA_WRITE, kWrite | kDirect, IBV_WC_RDMA_WRITE);
        set(IBV_WR_RDMA_WRITE_WITH_IMM, kWrite, IBV_WC_RDMA_WRITE);
        set(IBV_WR_SEND, kSend | kDirect, IBV_WC_SEND);
        set(IBV_WR_SEND_WITH_IMM, kSend | kDirect, IBV_WC_SEND);
        set(IBV_WR_SEND_WITH_INV, kSend, IBV_WC_SEND);
        set(IBV_WR_RDMA_READ, kRead | kDirect, IBV_WC_RDMA_READ);
        set(IBV_WR_ATOMIC_CMP_AND_SWP, kRead | kAtomic | kDirect, IBV_WC_COMP_SWAP);
        set(IBV_WR_ATOMIC_FETCH_AND_ADD, kRead | kAtomic | kDirect, IBV_WC_FETCH_ADD);
        set(IBV_WR_LOCAL_INV, kSupported | kLocal, IBV_WC_LOCAL_INV);
        set(IBV_WR_BIND_MW, kSupported | kLocal, IBV_WC_BIND_MW);
    }
    constexpr Kind operator[](unsigned opcode) const {
        return opcode < kCount ? of[opcode] : Kind{};
    }

  private:
    constexpr void set(unsigned opcode, unsigned traits, unsigned completion) {
        of[opcode] = {static_cast<std::uint8_t>(traits), static_cast<std::uint8_t>(completion)};
    }
};
inline constexpr Kinds kKinds;

}  // namespace softverbs
