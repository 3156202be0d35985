// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Shared receive queues of XRC domains: their numbers, and their completions, which name the queue
/// pair that received the message and the shared receive queue that held the receive.
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/delivery.hpp"
#include "providers/soft/softverbs/verbs/extended_objects.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"
#include "providers/soft/softverbs/verbs/xrc_domain.hpp"

namespace softverbs {

XrcDomain* SharedReceiveQueue::domain() const {
    return is_xrc() ? xrc_.xrcd->domain.get() : nullptr;
}

/// Gives the queue a number, by which requesters find it. @return 0 or an errno.
int SharedReceiveQueue::join(const XrcPlace& place, Queues::node_type&& made) {
    if (index_ + 1 == kMaxSrqs) return ENOMEM;  // completions have no name for it
    Adapter& adapter = this->adapter();
    support::MutexLock lock(adapter.mutex);
    const Result<std::uint32_t> number = adapter.take_qp_num();
    if (!number) return number.error();
    number_ = *number;
    xrc_ = place;
    domain()->add<SharedReceiveQueue>(std::move(made));
    ++xrc_.xrcd->users;
    ++xrc_.completions->users;
    adapter.add_xrc(this, index_, xrc_.completions->index());
    publish();
    return 0;
}

void SharedReceiveQueue::publish() const {
    QpEntry& entry = adapter().begin_entry(number_);
    entry.pd = ProtectionDomain::of(pd).number();
    entry.cq = xrc_.completions->index();
    entry.srq = index_ + 1;
    entry.qp_type = kXrcQueue;
    entry.send_lock = reinterpret_cast<std::uintptr_t>(&lock_);
    entry.xrc_domain = domain()->number;
    entry.qp_num.store(number_, std::memory_order_release);
}

/// Ends the number, waits for the requesters that may have seen it, and removes the completions
/// that wait: nobody could tell the requests to which they belong. @return 0 or EBUSY.
int SharedReceiveQueue::leave() {
    Adapter& adapter = this->adapter();
    QpEntry& entry = adapter.view().qp(adapter.index_of(number_));
    if (!is_closed_) {
        entry.qp_num.store(0, std::memory_order_seq_cst);
        entry.generation.fetch_add(1, std::memory_order_seq_cst);
        is_closed_ = true;
    }
    domain()->wake_requesters();  // those that wait for a receive here are refused now
    const auto any = [](std::uint32_t, std::uint32_t) { return true; };
    if (!adapter.requesters.wait(Clock::now() + kRequesterPatience, any)) return EBUSY;
    {
        Queues::node_type gone;
        support::MutexLock lock(adapter.mutex);
        gone = domain()->remove(this);
        adapter.remove_xrc(index_);
        adapter.return_qp_num(number_);
    }
    xrc_.completions->purge_xrc(index_);
    --xrc_.completions->users;
    --xrc_.xrcd->users;
    return 0;
}

bool SharedReceiveQueue::finish_receive(const CqEntry& entry, ibv_wc& wc) {
    const std::uint32_t position = read_once(entry.position);
    const std::uint64_t* id = posted_id(position);
    if (!id) return false;
    wc.wr_id = *id;
    if (deliver_payload(entry) != 0) wc.status = IBV_WC_LOC_PROT_ERR;
    free_slot(position);
    return true;
}

int SharedReceiveQueue::deliver_payload(const CqEntry& entry) const {
    const std::uint32_t position = read_once(entry.position);
    if (!posted_id(position)) return 0;
    return deliver(adapter(), ring_, ProtectionDomain::of(pd).number(), entry, position);
}

/// Visits the slots that were taken for a queue pair, whose requester has left, and were not
/// completed.
void SharedReceiveQueue::each_unfinished(std::uint32_t qp_num,
                                         const std::function<void(std::uint32_t)>& visit) {
    xrc_.completions->settle_receives(
        qp_num, [] {},
        [this](const CqEntry& entry) {
            if (names_of(entry).srq() == index_ + 1) note_completed(read_once(entry.position));
        });
    each_taken(qp_num, [&visit](std::uint32_t slot, bool completes) {
        if (!completes) visit(slot);
    });
}

void SharedReceiveQueue::flush_taken(std::uint32_t qp_num) {
    each_unfinished(qp_num, [&](std::uint32_t slot) { post_flushed(qp_num, slot); });
}

void SharedReceiveQueue::put_back_taken(std::uint32_t qp_num) {
    each_unfinished(qp_num, [&](std::uint32_t slot) { put_back(slot); });
}

void SharedReceiveQueue::post_flushed(std::uint32_t qp_num, std::uint32_t slot) const {
    const CompletionNames names = CompletionNames::of(qp_num, 0, index_ + 1);
    Completion completion;
    completion.qp_num = names.qp_num;
    completion.src_qp = names.src_qp;
    completion.position = slot;
    completion.status = IBV_WC_WR_FLUSH_ERR;
    xrc_.completions->post(completion);
}

namespace {

template <class Object>
bool is_of(const ibv_context* context, const Object* object) {
    return object && object->context->device == context->device;
}

bool asks_for_xrc(const ibv_srq_init_attr_ex& attributes) {
    return (attributes.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 &&
           attributes.srq_type == IBV_SRQT_XRC;
}

/// @return 0; EINVAL for attributes that are missing or another device's, EOPNOTSUPP for features
/// that the device lacks.
int check(const ibv_context* context, const ibv_srq_init_attr_ex& attributes) {
    constexpr std::uint32_t kXrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    constexpr std::uint32_t kServed = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | kXrc;
    if ((attributes.comp_mask & ~kServed) != 0) return EOPNOTSUPP;
    const bool has_type = (attributes.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
    const bool is_xrc = asks_for_xrc(attributes);
    if (has_type && !is_xrc && attributes.srq_type != IBV_SRQT_BASIC) return EOPNOTSUPP;
    const bool has_pd = (attributes.comp_mask & IBV_SRQ_INIT_ATTR_PD) != 0;
    if (!has_pd || !is_of(context, attributes.pd)) return EINVAL;
    if (!is_xrc) return 0;
    const bool has_place = (attributes.comp_mask & kXrc) == kXrc &&
                           is_of(context, attributes.xrcd) && is_of(context, attributes.cq);
    return has_place ? 0 : EINVAL;
}

}  // namespace

ibv_srq* create_extended_srq(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
    const CancellationDisabled guard;
    if (const int cause = check(context, *attributes)) {
        errno = cause;
        return nullptr;
    }
    XrcPlace place;
    if (asks_for_xrc(*attributes))
        place = {&OpenXrcDomain::of(attributes->xrcd), &CompletionQueue::of(attributes->cq)};
    try {
        return SharedReceiveQueue::create(ProtectionDomain::of(attributes->pd),
                                          attributes->srq_context, attributes->attr, place);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

int get_srq_number(ibv_srq* srq, std::uint32_t* number) {
    const SharedReceiveQueue& mine = SharedReceiveQueue::of(srq);
    if (!mine.is_xrc()) return also_errno(EINVAL);
    *number = mine.number();
    return 0;
}

}  // namespace softverbs
