// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The agent path on the service thread: serves requests as the responder, and hands answers to the
/// queue pairs that requested them.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/arena/peer_image.hpp"
#include "providers/soft/softverbs/verbs/adapter.hpp"
#include "providers/soft/softverbs/verbs/agent.hpp"
#include "providers/soft/softverbs/verbs/atomics.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/payload.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "support/base/guard.hpp"
#include "support/log/log.hpp"

namespace softverbs {
namespace {

bool is_atomic(AgentKind kind) {
    return kind == AgentKind::kCompareSwap || kind == AgentKind::kFetchAdd;
}

/// @return number of the protection domain of the keys that a message may name; 0 when it names an
/// XRC shared receive queue that does not exist.
std::uint32_t pd_of(const AgentMessage& message, const QueuePair& qp) {
    const bool is_xrc = qp.qp_type == IBV_QPT_XRC_RECV;
    const bool is_receive = message.access == IBV_ACCESS_LOCAL_WRITE;
    const SharedReceiveQueue* shared = is_xrc ? qp.xrc_queue(message.srq_num) : qp.shared_queue();
    if (shared && is_xrc) shared->order_after_posts();
    const bool is_shareds = shared && (is_xrc || is_receive);
    return is_shareds ? ProtectionDomain::of(shared->pd).number() : qp.pd_number();
}

/// Checks the ranges of a message in our own table, and adds them to the plan as local ranges.
/// @return false when a key does not permit the access, or the message is malformed.
bool check_ranges(const AgentMessage& message, const QueuePair& qp, Plan& plan) {
    if (message.num_ranges > kMaxSge) return false;
    const bool is_receive = message.access == IBV_ACCESS_LOCAL_WRITE;
    const std::uint32_t pd = pd_of(message, qp);
    if (pd == 0) return false;
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
        plan.local[plan.num_local++] = {checked.address, range.length, checked.shared, nullptr};
        plan.length += range.length;
    }
    return plan.length <= kAgentChunk;
}

bool names_region_that_is_away(const AgentMessage& message, const Adapter& adapter) {
    if (message.access == IBV_ACCESS_LOCAL_WRITE || message.num_ranges != 1) return false;
    const auto key = static_cast<std::uint32_t>(message.ranges[0].key);
    return is_away(adapter.view().mr(key), key);
}

/// Copies between the requester's buffer and our memory, all of which is in mapped shared pages.
void copy_plain(const Plan& plan, std::uint8_t* buffer, bool is_write) {
    Plan copy;
    copy.length = plan.length;
    copy.num_local = 1;
    copy.local[0] = {0, plan.length, {}, buffer};
    for (const LocalRange& range : plan.locals())
        copy.remote[copy.num_remote++] = {0, range.length, 0, 0, {}, range.here};
    is_write ? write_plain(copy) : read_plain(copy);
}

/// Copies between the requester's buffer and ordinary memory of ours, through a buffer in our
/// arena. The kernel copies from or to that memory, as the program may have unmapped it.
/// @return 0 or an errno.
int copy_by_kernel(Adapter& adapter, const Plan& plan, std::uint8_t* buffer, bool is_write) {
    const std::uint64_t staging = adapter.agent_staging();
    if (staging == 0) return ENOMEM;
    std::uint8_t* const ours = adapter.view().base() + staging;
    if (is_write) {
        std::memcpy(ours, buffer, plan.length);
        return write_from_file(adapter.arena_fd(), staging, plan.locals());
    }
    if (const int cause = read_into_file(adapter.arena_fd(), staging, plan.locals())) return cause;
    std::memcpy(buffer, ours, plan.length);
    return 0;
}

/// Runs an atomic operation on ordinary memory. There the atomic lock alone makes operations
/// atomic; the kernel copies the word, as the program may have unmapped it. @return 0 or an errno.
int run_atomic_by_kernel(Adapter& adapter, const Plan& plan, const AtomicRequest& request,
                         std::uint64_t& found) {
    const std::uint64_t staging = adapter.agent_staging();
    if (staging == 0) return ENOMEM;
    if (const int cause = read_into_file(adapter.arena_fd(), staging, plan.locals())) return cause;
    std::uint8_t* const ours = adapter.view().base() + staging;
    std::memcpy(&found, ours, sizeof found);
    if (!request.changes(found)) return 0;
    const std::uint64_t next = request.result(found);
    std::memcpy(ours, &next, sizeof next);
    return write_from_file(adapter.arena_fd(), staging, plan.locals());
}

/// Carries out an atomic operation. On a word in shared pages it uses the processor's atomics as
/// well as the lock, because requesters may use them there.
int carry_out_atomic(const AgentMessage& message, const QueuePair& qp, const Plan& plan,
                     std::uint64_t& found) {
    const LocalRange& word = plan.local[0];
    if (plan.num_local != 1 || plan.length != 8 || word.address % 8 != 0) return EINVAL;
    const AtomicLock lock(qp.adapter().view().header(), qp.qp_num, qp.adapter().process());
    if (!lock.held()) return EBUSY;
    fault_point(FaultPoint::kAgentAtomicLocked);
    const AtomicRequest request{reinterpret_cast<std::uintptr_t>(word.here),
                                message.kind == AgentKind::kCompareSwap, message.operands[0],
                                message.operands[1]};
    if (!word.here) return run_atomic_by_kernel(qp.adapter(), plan, request, found);
    found = run_atomic_here(request);
    return 0;
}

/// Carries out the responder's part: copies, or runs the atomic operation. Called with the
/// adapter's mutex held and Adapter::agent_copying set; ibv_dereg_mr waits until the latter is
/// cleared after it has made a key invalid.
int carry_out(const AgentMessage& message, const QueuePair& qp, const Peer& requester,
              std::uint64_t& found) {
    const bool changes =
        message.access == IBV_ACCESS_LOCAL_WRITE || message.access == IBV_ACCESS_REMOTE_WRITE;
    if (message.kind == AgentKind::kWrite && !changes) return EACCES;
    if (message.kind == AgentKind::kRead && message.access != IBV_ACCESS_REMOTE_READ) return EACCES;
    if (is_atomic(message.kind) && message.access != IBV_ACCESS_REMOTE_ATOMIC) return EACCES;
    Plan plan;
    if (!check_ranges(message, qp, plan)) {
        if (names_region_that_is_away(message, qp.adapter())) return EAGAIN;
        plan = {};  // it may have come back
        if (!check_ranges(message, qp, plan)) return EACCES;
    }
    Adapter& adapter = qp.adapter();
    const bool is_here = resolve_local(adapter.own_pages(), plan);
    if (is_atomic(message.kind)) return carry_out_atomic(message, qp, plan, found);
    auto* buffer = ArenaView(requester.arena(), requester.arena_size())
                       .array<std::uint8_t>(message.buffer, kAgentChunk);
    if (!buffer) return EINVAL;
    if (is_here) {
        copy_plain(plan, buffer, message.kind == AgentKind::kWrite);
        return 0;
    }
    return copy_by_kernel(adapter, plan, buffer, message.kind == AgentKind::kWrite);
}

bool takes_requests(const QpEntry& entry) {
    const Readiness readiness = entry.readiness.load();
    return readiness == Readiness::kReady || readiness == Readiness::kXrcReady;
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
                               qp->entry().dest_qp_num.load() == message.requester;
        if (connected && takes_requests(qp->entry())) {
            // The copy comes after the posts of the receives: until then the buffers were the
            // application's.
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

/// Tells the user, once, that copies take the slow path. Memory that is shared from birth does not
/// take it, so the first answer tells, and not the connection.
void tell_first_use(Adapter& adapter, const Peer& peer) {
    if (adapter.agent_only() || adapter.agent_told) return;
    const int cause = probe_process_vm(peer, ArenaView(peer.arena(), peer.arena_size()));
    if (cause == 0 || cause == ECONNREFUSED) return;
    support::report_once(adapter.agent_told, [&peer, cause] {
        support::report<support::kAgentUsed>(peer.pid(), std::strerror(cause),
                                             remedy_of_process_vm(cause));
    });
}

}  // namespace

void serve_agent_requests(Adapter& adapter) {
    adapter.process().handle(
        MessageType::kAgentCopy, [&adapter](const std::shared_ptr<Peer>& peer, Message& received) {
            const auto* in_place = received.as<AgentMessage>();
            if (!in_place || !is_arena_size(peer->arena_size()))
                return adapter.process().reject_garbage(peer, "a malformed agent request");
            const AgentMessage message = *in_place;
            if (message.kind != AgentKind::kDone) return serve_request(adapter, peer, message);
            tell_first_use(adapter, *peer);
            support::MutexLock lock(adapter.mutex);
            if (QueuePair* qp = adapter.find_qp(message.requester))
                qp->agent_replied(message, *peer);
        });
}

}  // namespace softverbs
