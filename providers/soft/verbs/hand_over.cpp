// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// On the agent path, where the peer's service thread copies, a write can be complete when that
/// thread has got all of it: the payload lies in our arena by then, and the requester's memory is
/// its own again. The queue stays behind it until the answer comes, so that what follows finds the
/// data in place, a read of no bytes as much as a send.
#include <time.h>

#include "providers/soft/verbs/executor.hpp"
#include "providers/soft/verbs/queue_pair.hpp"

namespace softverbs {

bool QueuePair::is_handed_over() const {
    return agent_ && agent_->busy && agent_->handed_over;
}

/// A request without a completion of its own may still fail, and then gets one.
void QueuePair::hand_over() {
    AgentOperation& operation = *agent_;
    if (!completes_early_ || operation.offset + operation.under_way < operation.plan.length) return;
    const SendWork& work = queued(send_pending_);
    if (work.opcode != IBV_WR_RDMA_WRITE || !is_signalled(work)) return;
    // The request's place in the queue is free once its completion is taken: from here on the
    // operation alone says what it is.
    operation.handed_over = true;
    complete(work, IBV_WC_SUCCESS);
}

/// What goes wrong now (the peer took its key back meanwhile) has no completion to be told in.
void QueuePair::conclude_handed_over(int status) {
    agent_->handed_over = false;
    waiting_for_ = Progress::kDone;
    Outcome outcome = done(IBV_WC_SUCCESS);
    if (status == 0) {
        agent_->busy = false;
    } else {
        SendWork write;
        write.opcode = IBV_WR_RDMA_WRITE;
        outcome = Executor(*this, target_, agent_, write).conclude_agent(status, 0);
    }
    ++send_pending_;
    if (outcome.status == IBV_WC_SUCCESS) return;
    request_failed();
    report(IBV_EVENT_QP_FATAL);
}

/// The peer copies out of a buffer of the queue pair's: it must not be used for something else
/// before. Without locks that the service thread wants.
void QueuePair::await_handed_over() {
    const Deadline limit = Clock::now() + kRequesterPatience;
    while (Clock::now() < limit) {
        {
            support::SpinLockGuard lock(send_lock_);
            const bool waits = agent_ && agent_->handed_over;
            if (!waits || !target_.peer || target_.peer->gone()) return;
        }
        const timespec pause{0, 50000};
        nanosleep(&pause, nullptr);
    }
}

}  // namespace softverbs

/// For the core that is linked into one library with us, which declares it as it is here: the way
/// from there to a queue pair of soft0 is verbs otherwise. Not exported: in other programs a write
/// is complete when it is placed. @param qp one of soft0's, before its first request.
extern "C" [[gnu::visibility("hidden")]] void softverbs_complete_early(ibv_qp* qp);

void softverbs_complete_early(ibv_qp* qp) {
    softverbs::QueuePair::of(qp).complete_early();
}
