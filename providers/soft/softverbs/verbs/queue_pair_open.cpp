// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// ibv_open_qp: several handles of one XRC_RECV queue pair, which exists until the last of them is
/// destroyed. Each gets its asynchronous events.
#include <atomic>
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/extended_objects.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/xrc_domain.hpp"
#include "support/base/made_node.hpp"

namespace softverbs {

void QueuePair::add_handle(Handles::node_type&& made) {
    support::SpinLockGuard guard(handles_lock_);
    handles_.insert(std::move(made));
}

/// @return whether it is the last handle, which stays while the queue pair is being destroyed.
bool QueuePair::give_up_handle(QueuePair& one) {
    if (!xrc_domain_) return true;
    Handles::node_type gone;
    support::MutexLock lock(adapter_.mutex);
    support::SpinLockGuard guard(handles_lock_);
    is_closing_ = handles_.size() == 1;
    if (!is_closing_) gone = handles_.extract(&one);
    return is_closing_;
}

void QueuePair::report_to_handles(ibv_async_event event) {
    support::SpinLockGuard guard(handles_lock_);
    for (QueuePair* one : handles_) {
        event.element.qp = one;
        Context::of(one->context).events.push(event);
    }
}

bool QueuePair::may_be_opened(const Place& place, std::uint32_t number) const {
    return qp_num == number && xrc_domain_ && xrc_domain_ == place.xrcd->domain && !is_closing_;
}

/// Several threads may modify one queue pair.
void QueuePair::note_state(ibv_qp_state known) {
    std::atomic_ref(state).store(known, std::memory_order_relaxed);
}

int QueuePair::modify_real(const ibv_qp_attr& attributes, int mask) {
    const int cause = real().modify(attributes, mask);
    if (cause == 0 && (mask & IBV_QP_STATE) != 0) note_state(attributes.qp_state);
    return cause;
}

QueuePair* QueuePair::open(const Place& place, std::uint32_t number, void* qp_context) {
    std::unique_ptr<QueuePair> made(new QueuePair(place));
    auto handle = support::made_node<Handles>(made.get());
    Adapter& adapter = made->adapter_;
    support::MutexLock lock(adapter.mutex);
    QueuePair* const found = adapter.find_qp(number);
    if (!found || !found->may_be_opened(place, number)) {
        errno = EINVAL;
        return nullptr;
    }
    found->add_handle(std::move(handle));
    made->real_ = found;
    made->qp_context = qp_context;
    made->qp_type = found->qp_type;
    made->qp_num = made->handle = found->qp_num;
    made->state = found->state_.load();
    made->count_uses(1);
    return made.release();
}

namespace {

/// @return 0; EINVAL for attributes that are missing or another device's.
int check(const ibv_context* context, const ibv_qp_open_attr& attributes) {
    constexpr std::uint32_t kNeeded =
        IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    if ((attributes.comp_mask & ~(kNeeded | IBV_QP_OPEN_ATTR_CONTEXT)) != 0) return EOPNOTSUPP;
    if ((attributes.comp_mask & kNeeded) != kNeeded || !attributes.xrcd) return EINVAL;
    const bool is_ours = attributes.xrcd->context->device == context->device;
    return is_ours && attributes.qp_type == IBV_QPT_XRC_RECV ? 0 : EINVAL;
}

}  // namespace

ibv_qp* open_queue_pair(ibv_context* context, ibv_qp_open_attr* attributes) {
    const CancellationDisabled guard;
    if (const int cause = check(context, *attributes)) {
        errno = cause;
        return nullptr;
    }
    const bool has_context = (attributes->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0;
    const QueuePair::Place place{context, nullptr, &OpenXrcDomain::of(attributes->xrcd)};
    try {
        return QueuePair::open(place, attributes->qp_num,
                               has_context ? attributes->qp_context : nullptr);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

}  // namespace softverbs
