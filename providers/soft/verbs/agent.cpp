// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/agent.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "providers/soft/verbs/adapter.hpp"
#include "providers/soft/verbs/atomics.hpp"
#include "providers/soft/verbs/fault_points.hpp"
#include "providers/soft/verbs/memory_regions.hpp"
#include "providers/soft/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

bool is_atomic(AgentKind kind) {
    return kind == AgentKind::kCompareSwap || kind == AgentKind::kFetchAdd;
}

/// The ranges of a message, checked in our own table, as ranges of ours. @return false when a key
/// does not permit it.
bool check_ranges(const AgentMessage& message, const QueuePair& qp, Plan& plan) {
    if (message.num_ranges > kMaxSge) return false;
    const SharedReceiveQueue* shared = qp.shared_queue();
    const bool is_receive = message.access == IBV_ACCESS_LOCAL_WRITE;
    const std::uint32_t pd =
        is_receive && shared ? ProtectionDomain::of(shared->pd).number() : qp.domain().number();
    if (!is_receive && (qp.entry().access.load() & message.access) == 0) return false;
    for (std::uint32_t i = 0; i < message.num_ranges; ++i) {
        const auto& range = message.ranges[i];
        if (range.length > kAgentChunk) return false;
        const Adapter& adapter = qp.adapter();
        const auto key = static_cast<std::uint32_t>(range.key);
        const Access access{pd, message.access, qp.qp_num, qp.entry().generation.load()};
        const CheckedRange checked =
            is_receive
                ? check_own_key(adapter, key, pd, message.access, range.address, range.length)
                : check_own_remote_key(adapter, key, access, range.address, range.length);
        if (!checked.permitted) return false;
        plan.local[plan.num_local++] = {checked.address, range.length};
        plan.length += range.length;
    }
    return plan.length <= kAgentChunk;
}

/// The part of the responder: copy, or carry out an atomic. Runs with the adapter's mutex held, for
/// which ibv_dereg_mr waits after it has made a key invalid.
int carry_out(const AgentMessage& message, const QueuePair& qp, const Peer& requester,
              std::uint64_t& found) {
    const bool changes =
        message.access == IBV_ACCESS_LOCAL_WRITE || message.access == IBV_ACCESS_REMOTE_WRITE;
    if (message.kind == AgentKind::kWrite && !changes) return EACCES;
    if (message.kind == AgentKind::kRead && message.access != IBV_ACCESS_REMOTE_READ) return EACCES;
    if (is_atomic(message.kind) && message.access != IBV_ACCESS_REMOTE_ATOMIC) return EACCES;
    Plan plan;
    if (!check_ranges(message, qp, plan)) return EACCES;
    if (is_atomic(message.kind)) {
        AtomicRequest request{plan.local[0].address, message.kind == AgentKind::kCompareSwap,
                              message.operands[0], message.operands[1]};
        if (plan.num_local != 1 || plan.length != 8 || request.address % 8 != 0) return EINVAL;
        const AtomicLock lock(qp.adapter().view().header(), qp.qp_num);
        if (!lock.held()) return EBUSY;
        found = run_atomic_here(request);
        return 0;
    }
    auto* buffer = ArenaView(requester.arena()).array<std::uint8_t>(message.buffer, kAgentChunk);
    if (!buffer) return EINVAL;
    // Seen from here the buffer is what is written from, or into, and the ranges are local to us.
    Plan copy;
    copy.length = plan.length;
    copy.local[0] = {reinterpret_cast<std::uintptr_t>(buffer), plan.length};
    copy.num_local = 1;
    for (const LocalRange& range : plan.locals())
        copy.remote[copy.num_remote++] = {range.address, range.length, 0, 0, {}};
    message.kind == AgentKind::kWrite ? write_local(copy) : read_local(copy);
    return 0;
}

void serve_request(Adapter& adapter, const std::shared_ptr<Peer>& peer,
                   const AgentMessage& message) {
    AgentMessage answer{};
    answer.kind = AgentKind::kDone;
    answer.requester = message.requester;
    answer.responder = message.responder;
    answer.ticket = message.ticket;
    answer.status = EACCES;
    {
        support::MutexLock lock(adapter.mutex);
        QueuePair* qp = adapter.find_qp(message.responder);
        const bool connected = qp && qp->qp_num == message.responder &&
                               qp->entry().readiness.load() == Readiness::kReady &&
                               qp->entry().dest_qp_num.load() == message.requester;
        if (connected) {
            // The buffers were the application's until it posted them.
            qp->order_after_receives();
            adapter.agent_copying.store(true, std::memory_order_seq_cst);
            answer.status = carry_out(message, *qp, *peer, answer.operands[0]);
            fault_point(FaultPoint::kAgentCopied);
            adapter.agent_copying.store(false, std::memory_order_seq_cst);
            adapter.agent_copies.fetch_add(1, std::memory_order_release);
        }
    }
    (void)peer->send(MessageType::kAgentCopy, bytes_of(answer));
}

}  // namespace

void serve_agent_requests(Adapter& adapter) {
    adapter.process().handle(MessageType::kAgentCopy,
                             [&adapter](const std::shared_ptr<Peer>& peer, Message& received) {
                                 const auto* in_place = received.as<AgentMessage>();
                                 if (!in_place || peer->arena_size() != kArenaSize)
                                     return adapter.process().reject_garbage(peer, "agent request");
                                 const AgentMessage message = *in_place;
                                 if (message.kind != AgentKind::kDone)
                                     return serve_request(adapter, peer, message);
                                 support::MutexLock lock(adapter.mutex);
                                 if (QueuePair* qp = adapter.find_qp(message.requester))
                                     qp->agent_replied(message, *peer);
                             });
}

int send_agent_chunk(Adapter& adapter, const Target& target, AgentOperation& operation,
                     std::uint32_t requester) {
    AgentMessage message{};
    message.kind = operation.kind;
    message.requester = requester;
    message.responder = target.qp_num;
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
        gather(buffer, operation.plan.locals(), operation.offset, operation.under_way);
    }
    const CancellationDisabled guard;
    const Result<void> sent = target.peer->send(MessageType::kAgentCopy, bytes_of(message));
    fault_point(FaultPoint::kAgentAsked);
    return sent ? 0 : sent.error();
}

}  // namespace softverbs
