// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The send queue: requests are carried out when they are posted, most of them directly
/// (direct_post.cpp). One that has to wait, and all after it, are copied into the queue; the
/// service thread continues when the peer kicks us, a timer expires, or the agent answers.
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "providers/soft/softverbs/arena/kick.hpp"
#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/executor.hpp"
#include "providers/soft/softverbs/verbs/memory_windows.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/request_kinds.hpp"
#include "providers/soft/softverbs/verbs/target_access.hpp"

namespace softverbs {
namespace {

bool is_datagram(const ibv_send_wr& wr) {
    return (wr.opcode == IBV_WR_SEND || wr.opcode == IBV_WR_SEND_WITH_IMM) && wr.wr.ud.ah;
}

static_assert(sizeof(Segment) == sizeof(ibv_sge) && offsetof(ibv_sge, lkey) == 12);

/// Also stores the binding's key in the window: the program finds it there as soon as the request
/// is posted.
void describe_bind(SendWork& work, ibv_mw& window, const ibv_mw_bind_info& info,
                   std::uint32_t key) {
    work.rkey = window.rkey = MemoryWindow::of(&window).key_with_tag(key);
    work.remote_addr = info.addr;
    work.bind = {info.mr ? info.mr->lkey : 0, info.mw_access_flags, info.length};
}

void describe_destination(SendWork& work, const ibv_send_wr& wr) {
    work.address = &AddressHandle::of(wr.wr.ud.ah).vector();
    work.remote_addr = wr.wr.ud.remote_qpn & 0xffffff;
    work.rkey = wr.wr.ud.remote_qkey;
}

std::uint64_t length_of(const ibv_send_wr& wr) {
    std::uint64_t length = 0;
    for (int i = 0; i < wr.num_sge; ++i) length += wr.sg_list[i].length;
    return length;
}

SendWork work_of(const ibv_send_wr& wr, ibv_qp_type type, std::uint32_t position) {
    SendWork work;
    work.wr_id = wr.wr_id;
    work.opcode = wr.opcode;
    work.flags = wr.send_flags;
    work.imm_data = wr.imm_data;
    work.position = position;
    work.address = nullptr;
    work.remote_addr = 0;
    work.rkey = 0;
    const std::uint8_t traits = kKinds[wr.opcode].traits;
    if ((traits & kLocal) != 0) {
        work.segments = nullptr;
        work.num_segments = 0;
        work.length = 0;
        if (wr.opcode == IBV_WR_BIND_MW)
            describe_bind(work, *wr.bind_mw.mw, wr.bind_mw.bind_info, wr.bind_mw.rkey);
        return work;
    }
    work.segments = reinterpret_cast<const Segment*>(wr.sg_list);
    work.num_segments = static_cast<std::uint32_t>(wr.num_sge);
    work.length = length_of(wr);
    static_assert(IBV_QPT_RC < IBV_QPT_UD && IBV_QPT_UC < IBV_QPT_UD &&
                  IBV_QPT_UD < IBV_QPT_XRC_SEND);
    if (type >= IBV_QPT_UD) {
        if (type == IBV_QPT_UD) {
            describe_destination(work, wr);
            return work;
        }
        work.srq_num = wr.qp_type.xrc.remote_srqn & 0xffffff;
    }
    // The caller of a send need not fill these in. What is there may be a store of something else
    // that is still under way, which a load would wait for.
    if ((traits & kNamesMemory) == 0) return work;
    work.remote_addr = wr.wr.rdma.remote_addr;
    work.rkey = wr.wr.rdma.rkey;
    if ((traits & kAtomic) == 0) return work;
    work.rkey = wr.wr.atomic.rkey;
    work.atomic = {wr.wr.atomic.compare_add, wr.wr.atomic.swap};
    return work;
}
static_assert(offsetof(ibv_send_wr, wr.rdma.remote_addr) ==
              offsetof(ibv_send_wr, wr.atomic.remote_addr));

/// A datagram waits so long for its destination to be found. A running process answers at once; a
/// message to one that is stopped is lost after this time.
constexpr std::chrono::seconds kLongestSearch{1};

/// Time to wait for a receive, by the code of IBV_QP_MIN_RNR_TIMER, in units of 10 us.
constexpr std::uint32_t kRnrDelays[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                          16,    24,   32,   48,    64,    96,    128,   192,
                                          256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                          4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

/// The intervals of retries, and how long a request retries that found a lock held. Another
/// process's atomic operation takes microseconds; one that holds the lock and makes no progress is
/// waited for this long.
constexpr std::chrono::milliseconds kRetryPause{1};
constexpr std::chrono::microseconds kShortestPause{100};
constexpr std::chrono::seconds kLockedPatience{10};
constexpr std::chrono::hours kForEver{24 * 365};

/// await_agent() waits so long. A peer that runs has copied by then; one that is stopped keeps the
/// buffer.
constexpr std::chrono::milliseconds kAgentPatience{100};

[[gnu::always_inline]] inline bool fits_inline(const ibv_send_wr& wr, std::uint32_t most) {
    if ((wr.send_flags & IBV_SEND_INLINE) == 0) return true;
    return (kKinds[wr.opcode].traits & kInlineable) != 0 && length_of(wr) <= most;
}

/// check() returns this for a request that may be posted, on a queue pair with fault rules: less
/// than any errno.
constexpr int kUnderRules = -1;

bool is_retried(Progress reason) {
    return reason == Progress::kLocked || reason == Progress::kAway;
}

}  // namespace

int QueuePair::check(const ibv_send_wr& wr) const {
    const ibv_qp_state state = state_.load(std::memory_order_relaxed);
    static_assert(IBV_QPS_RTS < IBV_QPS_SQD && IBV_QPS_SQD < IBV_QPS_SQE &&
                  IBV_QPS_SQE < IBV_QPS_ERR && IBV_QPS_ERR < IBV_QPS_UNKNOWN);
    if (state < IBV_QPS_RTS || state > IBV_QPS_ERR) return EINVAL;
    const std::uint8_t traits = kKinds[wr.opcode].traits;
    if ((traits & kSupported) == 0) return EINVAL;
    if (!is_reliable()) {
        if ((traits & kNeedsAnswer) != 0) return EINVAL;
        if (qp_type == IBV_QPT_UD && !is_datagram(wr)) return EINVAL;
    }
    if (wr.opcode == IBV_WR_BIND_MW && !wr.bind_mw.mw) return EINVAL;
    if (static_cast<std::uint32_t>(wr.num_sge) > cap_.max_send_sge) return EINVAL;
    if (send_posted_ - send_completed_.load(std::memory_order_acquire) >= send_limit_) [[unlikely]]
        return check_at_limit(wr);
    return fits_inline(wr, cap_.max_inline_data) ? 0 : EINVAL;
}

/// Decides in check()'s place on a request at a queue that is full, or that a rule concerns.
[[gnu::noinline]] int QueuePair::check_at_limit(const ibv_send_wr& wr) const {
    if (send_posted_ - send_completed_.load(std::memory_order_acquire) >= cap_.max_send_wr)
        return send_cq ? ENOMEM : EINVAL;
    if (faults_)
        if (const int cause = faults_->of_post()) return cause;
    if (!fits_inline(wr, cap_.max_inline_data)) return EINVAL;
    return faults_ ? kUnderRules : 0;
}

int QueuePair::post_send(ibv_send_wr* wr, ibv_send_wr** bad) {
    support::SpinLockGuard lock(send_lock_);
    for (; wr; wr = wr->next) {
        if (post_directly(*wr)) [[likely]]
            continue;
        if (const int cause = post_generally(*wr)) {
            if (bad) *bad = wr;
            return cause;
        }
    }
    return 0;
}

/// @return 0 or an errno, with the request not posted.
[[gnu::noinline]] int QueuePair::post_generally(const ibv_send_wr& wr) {
    if (const int cause = check(wr)) {
        if (cause != kUnderRules) return cause;
        if (post_past_rules(wr)) return 0;
    }
    // Windows of type 1 are bound by ibv_bind_mw.
    if (wr.opcode == IBV_WR_BIND_MW && wr.bind_mw.mw->type != IBV_MW_TYPE_2) return EINVAL;
    try {
        submit(work_of(wr, qp_type, send_posted_));
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
    return 0;
}

int QueuePair::post_all(ibv_send_wr* first) {
    support::SpinLockGuard lock(send_lock_);
    std::uint32_t count = 0;
    for (const ibv_send_wr* wr = first; wr; wr = wr->next, ++count) {
        if (const int cause = check(*wr); cause > 0) return cause;
    }
    const std::uint32_t used = send_posted_ - send_completed_.load(std::memory_order_acquire);
    if (used + count > cap_.max_send_wr) return ENOMEM;
    for (const ibv_send_wr* wr = first; wr; wr = wr->next) {
        if (!post_directly(*wr)) submit(work_of(*wr, qp_type, send_posted_));
    }
    return 0;
}

int QueuePair::bind(ibv_mw& window, const ibv_mw_bind& request) {
    const ibv_mw_bind_info& info = request.bind_info;
    if (!info.mr && (info.addr != 0 || info.length != 0)) return EINVAL;
    if (info.mr && !is_same_domain(info.mr->pd, window.pd)) return EPERM;
    if ((info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0) return EINVAL;  // for type 2 only
    ibv_send_wr wr{};
    wr.wr_id = request.wr_id;
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = request.send_flags;
    wr.bind_mw.mw = &window;
    wr.bind_mw.rkey = ibv_inc_rkey(window.rkey);
    wr.bind_mw.bind_info = info;
    support::SpinLockGuard lock(send_lock_);
    if (const int cause = check(wr); cause > 0) return cause;
    submit(work_of(wr, qp_type, send_posted_));
    return 0;
}

/// Counts the request as posted, and carries it out unless it has to wait.
void QueuePair::submit(const SendWork& work) {
    const ibv_qp_state state = state_.load(std::memory_order_relaxed);
    const bool in_order = send_pending_ == send_posted_;
    ++send_posted_;
    if (state == IBV_QPS_ERR || state == IBV_QPS_SQE) {
        ++send_pending_;
        return complete(work, IBV_WC_WR_FLUSH_ERR);
    }
    if (!in_order || state == IBV_QPS_SQD) return enqueue(work);
    const Outcome outcome = try_to_carry_out(work);
    if (outcome.progress != Progress::kDone) {
        enqueue(work);
        return begin_wait(outcome.progress);
    }
    ++send_pending_;
    conclude(work, outcome.status);
}

SendWork& QueuePair::queued(std::uint32_t position) {
    std::byte* slot =
        send_slots_.get() + std::size_t{position % cap_.max_send_wr} * send_slot_stride_;
    return *reinterpret_cast<SendWork*>(slot);
}

/// Copies the request, its segments and inline data into its slot: they are the caller's again when
/// the post returns.
[[gnu::noinline]] void QueuePair::enqueue(const SendWork& work) {
    SendWork& copy = queued(work.position);
    copy = work;
    auto* segments = reinterpret_cast<Segment*>(&copy + 1);
    if (work.address) {
        auto* address = reinterpret_cast<AddressVector*>(segments);
        *address = *work.address;
        copy.address = address;
        segments = reinterpret_cast<Segment*>(address + 1);
    }
    copy.segments = segments;
    if (!work.is_inline()) {
        if (work.num_segments != 0)
            std::memcpy(segments, work.segments, work.num_segments * sizeof(Segment));
        return;
    }
    auto* data = reinterpret_cast<std::uint8_t*>(segments + 1);
    copy.num_segments = work.length != 0 ? 1 : 0;
    segments[0] = {reinterpret_cast<std::uintptr_t>(data), static_cast<std::uint32_t>(work.length),
                   0};
    for (std::uint32_t i = 0; i < work.num_segments; ++i) {
        const Segment& segment = work.segments[i];
        if (segment.length == 0) continue;
        std::memcpy(data, reinterpret_cast<const void*>(segment.address), segment.length);
        data += segment.length;
    }
}

void QueuePair::conclude(const SendWork& work, ibv_wc_status status) {
    if (status == IBV_WC_SUCCESS) [[likely]]
        return complete(work, status);
    fail_request(work, status);
}

/// Unsignalled requests complete silently when they succeed; a later completion frees their slots.
void QueuePair::complete(const SendWork& work, ibv_wc_status status) {
    if (status == IBV_WC_SUCCESS && !is_signalled(work)) return;
    const Kind kind = kKinds[work.opcode];
    const bool brings_data = status == IBV_WC_SUCCESS && (kind.traits & kNeedsAnswer) != 0;
    const SendCompletion completion{work.wr_id,
                                    this,
                                    brings_data ? static_cast<std::uint32_t>(work.length) : 0,
                                    work.position,
                                    static_cast<std::uint8_t>(status),
                                    kind.completion};
    send_queue().post(completion);
}

/// Carries out the request for a post. If there is no memory for it, the request has not been
/// posted.
inline Outcome QueuePair::try_to_carry_out(const SendWork& work) {
    try {
        return carry_out(work);
    } catch (const std::bad_alloc&) {
        --send_posted_;
        throw;
    }
}

Outcome QueuePair::carry_out(const SendWork& work) {
    return datagrams_ ? datagrams_->send(work) : Executor(*this, target_, agent_, work).run();
}

/// Short messages that are not placed yet are in another queue then.
bool QueuePair::aim(std::uint32_t srq_num) {
    if (target_.is_aimed_at(srq_num)) return true;
    leave_placement();
    unplaced_ = {};
    return target_.aim(srq_num);
}

/// Carries out queued requests until one has to wait.
void QueuePair::drain() {
    while (send_pending_ != send_posted_ && state_.load() == IBV_QPS_RTS &&
           !(agent_ && agent_->busy)) {
        const Adapter::Working working(adapter_);
        const SendWork& work = queued(send_pending_);
        const Outcome outcome = carry_out(work);
        if (outcome.progress != Progress::kDone) {
            if (outcome.progress != waiting_for_) begin_wait(outcome.progress);
            break;
        }
        waiting_for_ = Progress::kDone;
        ++send_pending_;
        conclude(work, outcome.status);
    }
}

/// @return how long the peer asks us to wait before a retry when it is not ready to receive.
std::chrono::nanoseconds QueuePair::rnr_delay() const {
    const std::uint32_t code = target_.entry->min_rnr_timer.load() & 31;
    return scaled(std::chrono::microseconds(std::uint64_t{10} * kRnrDelays[code]));
}

/// @return how long a request retries that has to wait for this reason.
Deadline QueuePair::retry_deadline(Progress reason) const {
    if (reason == Progress::kLocked) return Clock::now() + kLockedPatience;
    if (attributes_.rnr_retry == 7) return Clock::now() + kForEver;
    return Clock::now() + rnr_delay() * attributes_.rnr_retry;
}

/// @return when a wait ends, by the queue pair's attributes: how long the peer may be without a
/// receive, or unready. Sets `endless` if they set no limit.
Deadline QueuePair::wait_deadline(Progress reason, bool& endless) const {
    using std::chrono::nanoseconds;
    const Deadline now = Clock::now();
    if (reason == Progress::kLocked) return now + kRetryPause;
    if (reason == Progress::kDelayed) return faults_ ? faults_->release() : now;
    if (reason == Progress::kAway)
        return now + std::clamp<nanoseconds>(rnr_delay(), kShortestPause, kRetryPause);
    if (reason == Progress::kNoReceive) {
        endless = attributes_.rnr_retry == 7;
        return now + rnr_delay() * attributes_.rnr_retry;
    }
    if (reason == Progress::kUnresolved) return now + kLongestSearch;
    // The specification lets an adapter take up to four times the time-out it was given.
    endless = attributes_.timeout == 0;
    const double timeout_us = 4.096 * 4 * static_cast<double>(1u << (attributes_.timeout & 31));
    const nanoseconds patience = scaled(std::chrono::microseconds(
        static_cast<std::uint64_t>(timeout_us * (attributes_.retry_cnt + 1))));
    if (reason != Progress::kNoAnswer) return now + patience;
    const bool shorter = !endless && patience < scaled(kLongestSilence);
    endless = false;
    return now + (shorter ? patience : scaled(kLongestSilence));
}

[[gnu::noinline]] void QueuePair::begin_wait(Progress reason) {
    if (is_retried(reason) && waiting_for_ != reason) retried_until_ = retry_deadline(reason);
    waiting_for_ = reason;
    const std::uint32_t ticket = ++wait_ticket_;
    if (reason == Progress::kAgent) return;
    if (faults_) come_back_by_rule();
    bool endless = false;
    const Deadline deadline = wait_deadline(reason, endless);
    if (endless) return;
    come_back(deadline, [ticket](QueuePair& qp) { qp.wait_expired(ticket); });
}

bool QueuePair::pass_sender() const {
    constexpr int kLongest = 4096;
    for (int turns = 0; send_lock_.is_held();) {
        relax(turns);
        if (turns == kLongest) return false;
    }
    return true;
}

void QueuePair::finish_search() {
    if (qp_type != IBV_QPT_UD) return;
    for (const Deadline end = Clock::now() + kLongestSearch; Clock::now() < end;) {
        {
            support::SpinLockGuard lock(send_lock_);
            if (waiting_for_ != Progress::kUnresolved || state_.load() != IBV_QPS_RTS) return;
        }
        const timespec pause{0, 50000};
        nanosleep(&pause, nullptr);
    }
}

void QueuePair::wait_expired(std::uint32_t ticket) {
    support::SpinLockGuard lock(send_lock_);
    if (ticket != wait_ticket_ || waiting_for_ == Progress::kDone) return;
    const Progress reason = waiting_for_;
    drain();  // the peer's kick may be on its way
    if (ticket != wait_ticket_ || waiting_for_ != reason || state_.load() != IBV_QPS_RTS) return;
    if (reason == Progress::kUnresolved) {
        datagrams_->stop_waiting();
        return drain();
    }
    if (reason == Progress::kDelayed) return begin_wait(reason);
    if (is_retried(reason) && Clock::now() < retried_until_) return begin_wait(reason);
    if (is_held_by_rule()) note_rule();
    const bool not_ready = reason == Progress::kNoReceive || reason == Progress::kAway;
    enter_error(not_ready ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR);
}

void QueuePair::await_agent() {
    for (const Deadline end = Clock::now() + kAgentPatience; Clock::now() < end;) {
        {
            support::SpinLockGuard lock(send_lock_);
            if (!agent_ || !agent_->at_peer || !target_.peer || target_.peer->gone()) return;
        }
        const timespec pause{0, 50000};
        nanosleep(&pause, nullptr);
    }
}

void QueuePair::agent_replied(const AgentMessage& answer, const Peer& peer) {
    support::SpinLockGuard lock(send_lock_);
    if (!agent_ || agent_->ticket != answer.ticket) return;
    if (!target_.peer || target_.peer.get() != &peer) return;
    AgentOperation& operation = *agent_;
    operation.at_peer = false;
    if (!operation.busy || state_.load() == IBV_QPS_ERR) return;
    const Adapter::Working working(adapter_);
    const SendWork& work = queued(send_pending_);
    int status = answer.status;
    // If the local memory has only been away, the request begins again.
    if (!Executor(*this, target_, agent_, work).may_go_on()) status = EAGAIN;
    if (status == 0 && operation.kind == AgentKind::kRead)
        status = scatter_agent_chunk(adapter_, operation);
    operation.offset += operation.under_way;
    if (status == 0 && operation.offset < operation.plan.length) {
        count_use(target_, work.rkey);
        status = send_agent_chunk(adapter_, target_, operation, qp_num);
        if (status == 0) return;
        if (status != EFAULT) status = ESRCH;
    }
    const Outcome outcome =
        Executor(*this, target_, agent_, work).conclude_agent(status, answer.operands[0]);
    if (outcome.progress != Progress::kDone) return begin_wait(outcome.progress);
    waiting_for_ = Progress::kDone;
    ++send_pending_;
    conclude(work, outcome.status);
    drain();
    if (state_.load() == IBV_QPS_SQD) tell_when_drained();
}

}  // namespace softverbs
