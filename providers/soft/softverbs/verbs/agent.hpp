// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The agent path: where process_vm is forbidden, payload goes through a buffer in the requester's
/// arena, chunk by chunk, and the peer's service thread copies between that buffer and its memory.
/// That thread checks the keys itself, in its own table. A queue pair has one chunk outstanding at
/// a time; its request stays at the head of the send queue until all chunks are done.
#pragma once

#include <cstdint>

#include "providers/soft/softverbs/memory/transfer.hpp"
#include "providers/soft/softverbs/verbs/target.hpp"

namespace softverbs {

class Adapter;

inline constexpr std::uint32_t kAgentChunk = 256 << 10;

enum class AgentKind : std::uint32_t { kWrite, kRead, kCompareSwap, kFetchAdd, kDone };

/// A message on the link between two processes, in both directions; kDone is the answer.
struct AgentMessage {
    AgentKind kind;
    std::uint32_t requester;  ///< QP number
    std::uint32_t responder;  ///< QP number
    std::uint32_t ticket;
    std::uint32_t access;  ///< IBV_ACCESS_* that the keys must permit
    std::uint32_t num_ranges;
    std::uint64_t buffer;       ///< offset in the requester's arena
    std::int32_t status;        ///< kDone: 0 or an errno
    std::uint32_t srq_num;      ///< of an XRC request, else 0
    std::uint64_t operands[2];  ///< of an atomic operation; kDone: [0] is the value found
    struct {
        std::uint64_t address;
        std::uint64_t length;
        std::uint64_t key;
    } ranges[kMaxSge];
};

/// A request that the peer's service thread is carrying out.
struct AgentOperation {
    AgentKind kind = AgentKind::kWrite;
    Plan plan;
    std::uint32_t access = 0;
    std::uint64_t operands[2] = {0, 0};
    std::uint64_t offset = 0;     ///< bytes done
    std::uint64_t under_way = 0;  ///< bytes of the chunk at the peer
    std::uint64_t buffer = 0;     ///< offset in our arena; freed with the queue pair
    std::uint32_t ticket = 0;
    bool is_answer_lost = false;  ///< by a fault rule: the request fails although it is carried out
    bool busy = false;
    bool at_peer = false;    ///< its service thread has been sent a chunk and has not answered
    std::uint32_t slot = 0;  ///< the receive that the request has consumed
};

/// Registers the handler (agent_service.cpp). Called once, before the service thread runs.
void serve_agent_requests(Adapter& adapter);

/// Copies a chunk that the peer has read to its destination.
/// @return 0, or EFAULT when the program has unmapped or protected the memory.
int scatter_agent_chunk(Adapter& adapter, const AgentOperation& operation);

/// Sends the next chunk.
/// @return 0 or an errno: EFAULT when the program has unmapped or protected the memory.
int send_agent_chunk(Adapter& adapter, const Target& target, AgentOperation& operation,
                     std::uint32_t requester);

}  // namespace softverbs
