// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The contents of a process's arena, read without being a peer: by pread, so that nothing is
/// mapped or allocated, and a peer that truncates or punches its arena can do no harm.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "providers/soft/softverbs/fabric/index.hpp"
#include "providers/soft/softverbs/fabric/ports.hpp"

namespace softverbs::tool {

struct QueuePairInfo {
    std::uint32_t number;
    std::string type;
    std::string state;
    std::optional<PortId> port;
    std::uint32_t destination;  ///< QP number; 0: none
    std::uint32_t pd;
    std::uint32_t receive_cq;      ///< or kNoCq
    std::uint32_t srq;             ///< index + 1; 0: none
    std::uint32_t receives_taken;  ///< counted modulo 2^32; 0 with an SRQ
};

struct CompletionQueueInfo {
    std::uint32_t index;
    std::uint32_t entries;
    std::uint32_t channel;  ///< 0: none
};

struct SharedReceiveQueueInfo {
    std::uint32_t index;
    std::uint32_t pd;
    std::uint32_t receives_posted, receives_taken;
    std::uint32_t limit;  ///< 0: not armed
};

struct RegionInfo {
    std::uint32_t key;
    std::string kind;
    std::uint32_t pd;
    std::vector<std::string> access;
    std::uint64_t address, length;  ///< in the owner; bytes
    std::uint64_t shared;           ///< bytes that peers reach by path S; the others by path P
    std::string reason;
};

struct ArenaSnapshot {
    std::vector<QueuePairInfo> queue_pairs;
    std::vector<CompletionQueueInfo> completion_queues;
    std::vector<SharedReceiveQueueInfo> shared_receive_queues;
    std::vector<RegionInfo> regions;
    /// Number of entries that no working process writes; a file that is no arena counts as one.
    std::uint64_t senseless = 0;
};

/// @param blocks blocks of QP numbers that the index assigns to the owner
ArenaSnapshot read_arena(int fd, const std::vector<std::uint32_t>& blocks);

}  // namespace softverbs::tool
