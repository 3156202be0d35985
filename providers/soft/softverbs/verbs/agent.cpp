// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/agent.hpp"

#include <algorithm>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/payload.hpp"

namespace softverbs {
namespace {

/// Gathers the payload of the current chunk into the buffer.
/// @return 0, or EFAULT when the program has unmapped or protected the memory.
int gather_chunk(Adapter& adapter, const AgentOperation& operation, std::uint8_t* buffer) {
    Plan chunk;
    cut(operation.plan, operation.offset, operation.under_way, chunk);
    if (!resolve_local(adapter.own_pages(), chunk))
        return read_into_file(adapter.arena_fd(), operation.buffer, chunk.locals());
    gather(buffer, chunk.locals());
    return 0;
}

}  // namespace

int scatter_agent_chunk(Adapter& adapter, const AgentOperation& operation) {
    Plan chunk;
    cut(operation.plan, operation.offset, operation.under_way, chunk);
    const auto* buffer = adapter.view().array<std::uint8_t>(operation.buffer, kAgentChunk);
    if (!resolve_local(adapter.own_pages(), chunk))
        return write_from_file(adapter.arena_fd(), operation.buffer, chunk.locals());
    scatter(chunk.locals(), buffer);
    return 0;
}

int send_agent_chunk(Adapter& adapter, const Target& target, AgentOperation& operation,
                     std::uint32_t requester) {
    AgentMessage message{};
    message.kind = operation.kind;
    message.requester = requester;
    message.responder = target.qp_num;
    message.srq_num = target.srq_num;
    message.ticket = ++operation.ticket;
    message.access = operation.access;
    message.buffer = operation.buffer;
    message.operands[0] = operation.operands[0];
    message.operands[1] = operation.operands[1];
    operation.under_way =
        std::min<std::uint64_t>(operation.plan.length - operation.offset, kAgentChunk);
    std::uint64_t skip = operation.offset;
    std::uint64_t left = operation.under_way;
    for (const RemoteRange& range : operation.plan.remotes()) {
        if (skip >= range.length) {
            skip -= range.length;
            continue;
        }
        const std::uint64_t part = std::min(range.length - skip, left);
        if (part == 0) break;
        auto& out = message.ranges[message.num_ranges++];
        out.address = range.named + skip;
        out.length = part;
        out.key = range.key;
        left -= part;
        skip = 0;
    }
    if (operation.kind == AgentKind::kWrite) {
        auto* buffer = adapter.view().array<std::uint8_t>(operation.buffer, kAgentChunk);
        if (const int cause = gather_chunk(adapter, operation, buffer)) return cause;
    }
    const CancellationDisabled guard;
    const Result<void> sent = target.peer->send(MessageType::kAgentCopy, bytes_of(message));
    operation.at_peer = sent.has_value();
    fault_point(FaultPoint::kAgentAsked);
    return sent ? 0 : sent.error();
}

}  // namespace softverbs
