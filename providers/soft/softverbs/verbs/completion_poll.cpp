// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Polling a completion queue: converts completions to ibv_wc, and returns their slots to the queue
/// pairs.
#include <utility>

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {
namespace {

/// Number of polls in a row that may return sends alone: a program that posts a send for each
/// completion of one must not starve its receives.
constexpr unsigned kPollsForSendsInARow = 64;

/// Fills in what the entry of a receive says, and the numbers of the queue pairs that it names.
inline void fill(ibv_wc& wc, const CqEntry& entry, std::uint32_t qp_num, std::uint32_t src_qp) {
    wc = {};
    wc.status = static_cast<ibv_wc_status>(entry.status);
    wc.opcode = static_cast<ibv_wc_opcode>(entry.opcode + IBV_WC_RECV);
    wc.byte_len = entry.byte_len;
    wc.imm_data = entry.imm_data;
    wc.qp_num = qp_num;
    wc.src_qp = src_qp;
    wc.wc_flags = entry.wc_flags;
}

bool is_failure(const ibv_wc& wc) {
    return wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR;
}

}  // namespace

/// Takes sends first, so that the completion of a request is seen before the receive of its answer.
template <bool kStamped>
int CompletionQueue::take(int count, ibv_wc* wc) {
    int found = 0;
    if (polls_for_sends_ >= kPollsForSendsInARow) {
        polls_for_sends_ = 0;
        found = take_receives<kStamped>(count, wc);
    }
    if (!sends_.empty()) found += take_sends<kStamped>(count - found, wc + found);
    if (found == count) {
        ++polls_for_sends_;
        return found;
    }
    polls_for_sends_ = 0;
    return found + take_receives<kStamped>(count - found, wc + found);
}

template <bool kStamped>
int CompletionQueue::take_sends(int count, ibv_wc* wc) {
    int found = 0;
    for (; found < count && !sends_.empty(); sends_.drop_oldest()) {
        const SendCompletion& from = sends_.oldest();
        if (!from.qp) continue;
        ibv_wc& to = wc[found++];
        to = {};
        to.wr_id = from.wr_id;
        to.status = static_cast<ibv_wc_status>(from.status);
        to.opcode = static_cast<ibv_wc_opcode>(from.opcode);
        to.byte_len = from.byte_len;
        to.qp_num = from.qp->qp_num;
        if constexpr (kStamped) polled_stamp = from.timestamp();
        from.qp->finish_send(from.position);
    }
    return found;
}

template <bool kStamped>
int CompletionQueue::take_receives(int count, ibv_wc* wc) {
    int found = backlog_.left() != 0 ? take_backlog<kStamped>(count, wc) : 0;
    const std::uint64_t before = head_;
    while (found < count) {
        const CqEntry& entry = ring_.entry(head_);
        const EntryState state = EntryState::decode(entry.state.load(std::memory_order_acquire));
        if (state.position != static_cast<std::uint32_t>(head_) || state.phase == Phase::kOld)
            break;
        if constexpr (kStamped) polled_stamp = stamp_of(entry);
        if (state.phase == Phase::kReady && convert(entry, wc[found])) ++found;
        ++head_;
    }
    if (head_ == before) return found;
    ring_.set_head(head_);
    fault_point(FaultPoint::kCompletionFreed);
    return found;
}

/// Takes completions from the backlog. An empty backlog is kept until the next resize, or the
/// queue's destruction: it must not be freed with lock_ held, since a registration cache may
/// deregister memory in free(), which takes lock_.
template <bool kStamped>
[[gnu::noinline]] int CompletionQueue::take_backlog(int count, ibv_wc* wc) {
    int found = 0;
    while (found < count && backlog_.left() != 0) {
        const CqEntry& entry = backlog_.entries[backlog_.head++];
        const EntryState state = EntryState::decode(entry.state.load(std::memory_order_relaxed));
        if constexpr (kStamped) polled_stamp = stamp_of(entry);
        if (state.phase == Phase::kReady && convert(entry, wc[found])) ++found;
    }
    return found;
}

/// Converts an entry of the ring. Any peer may have written it, so the queue pair is looked up and
/// checks it. @return false when the entry is invalid.
bool CompletionQueue::convert(const CqEntry& entry, ibv_wc& wc) {
    const std::uint32_t qp_num = read_once(entry.qp_num);
    (void)adapter().agent_copies.load(std::memory_order_acquire);
    QueuePair* qp = adapter().find_receiver(qp_num, index_);
    if (!qp) return convert_xrc(entry, wc);
    fill(wc, entry, qp_num, entry.src_qp);
    if (!qp->finish_receive(entry, wc)) return false;
    if (is_failure(wc)) [[unlikely]]
        receive_failed_ = true;
    return true;
}

/// Converts the completion of a receive from an XRC shared receive queue. Its queue pair may be
/// gone, so only the shared receive queue is looked up. Cold, so that polls of other completions
/// save no registers for it.
[[gnu::noinline, gnu::cold]] bool CompletionQueue::convert_xrc(const CqEntry& entry, ibv_wc& wc) {
    const CompletionNames names = names_of(entry);
    SharedReceiveQueue* srq = adapter().find_xrc_queue(names, index_);
    if (!srq) return false;
    fill(wc, entry, CompletionNames::number(names.qp_num), CompletionNames::number(names.src_qp));
    if (!srq->finish_receive(entry, wc)) return false;
    if (is_failure(wc)) receive_failed_ = true;
    return true;
}

template <bool kStamped>
int CompletionQueue::poll_as(int count, ibv_wc* wc) {
    int found = 0;
    bool failed = false;
    {
        support::SpinLockGuard lock(lock_);
        found = take<kStamped>(count, wc);
        if (found != 0) {
            patience_.found_something();
            failed = std::exchange(receive_failed_, false);
        } else if (!patience_.found_nothing()) {
            return 0;
        }
    }
    if (failed) [[unlikely]]
        report_failed_receives(wc, found);
    if (found != 0) return found;
    const bool somebody_ran = support::PollPatience::yield();
    support::SpinLockGuard lock(lock_);
    patience_.yielded(somebody_ran);
    return 0;
}

[[gnu::flatten]] int CompletionQueue::poll(int count, ibv_wc* wc) {
    return poll_as<false>(count, wc);
}

int CompletionQueue::poll_stamped() {
    return poll_as<true>(1, &polled);
}

/// Moves the queue pairs of failed receives to the error state: a program that has polled an error
/// finds its queue pair there, even if the service thread has not got to it yet.
void CompletionQueue::report_failed_receives(const ibv_wc* wc, int count) const {
    support::MutexLock lock(adapter().mutex);
    for (int i = 0; i < count; ++i) {
        if (!is_failure(wc[i])) continue;
        QueuePair* qp = adapter().find_qp(wc[i].qp_num);
        const bool is_receive = (wc[i].opcode & IBV_WC_RECV) != 0;
        if (qp && is_receive && qp->receives_in(*this)) qp->receive_failed();
    }
}

void CompletionQueue::report_overrun() {
    if (!overrun_told_) {
        overrun_told_ = true;
        ibv_async_event event{};
        event.element.cq = this;
        event.event_type = IBV_EVENT_CQ_ERR;
        Context::of(context).events.push(event);
    }
    adapter().each_queue_pair([this](QueuePair& qp) {
        if (qp.send_cq == this || qp.receives_in(*this)) qp.fail(IBV_EVENT_QP_FATAL);
    });
}

}  // namespace softverbs
