// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/agent.hpp"
#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"

namespace softverbs {
namespace {

bool are_of(const ibv_device* device, const ibv_qp_init_attr& attributes) {
    return attributes.send_cq->context->device == device &&
           attributes.recv_cq->context->device == device &&
           (!attributes.srq || attributes.srq->context->device == device);
}

int check_attributes(const ibv_pd& pd, const ibv_qp_init_attr& attributes) {
    const ibv_qp_cap& cap = attributes.cap;
    if (!attributes.send_cq || !attributes.recv_cq) return EINVAL;
    if (!are_of(pd.context->device, attributes)) return EINVAL;
    const bool is_datagram = attributes.qp_type == IBV_QPT_UD;
    if (attributes.qp_type != IBV_QPT_RC && attributes.qp_type != IBV_QPT_UC && !is_datagram)
        return EOPNOTSUPP;
    if (attributes.qp_type == IBV_QPT_UC && attributes.srq) return EINVAL;
    const bool fits = cap.max_send_wr <= kMaxWorkRequests && cap.max_recv_wr <= kMaxWorkRequests &&
                      cap.max_send_sge <= kMaxSge && cap.max_recv_sge <= kMaxSge &&
                      cap.max_inline_data <= kMaxInline;
    return fits ? 0 : EINVAL;
}

}  // namespace

QueuePair::QueuePair(ProtectionDomain& pd) : adapter_(*pd.owner().adapter) {
    context = pd.context;
    this->pd = &pd;
    pthread_mutex_init(&mutex, nullptr);
    pthread_cond_init(&cond, nullptr);
}

QueuePair::~QueuePair() {
    pthread_mutex_destroy(&mutex);
    pthread_cond_destroy(&cond);
}

QueuePair* QueuePair::create(ProtectionDomain& pd, ibv_qp_init_attr& attributes) {
    if (const int cause = check_attributes(pd, attributes)) {
        errno = cause;
        return nullptr;
    }
    std::unique_ptr<QueuePair> qp(new QueuePair(pd));
    int cause = ENOMEM;
    try {
        cause = qp->set_up(attributes);
    } catch (const std::bad_alloc&) {
        // cause is ENOMEM
    }
    if (cause != 0) {
        qp->release_memory();
        errno = cause;
        return nullptr;
    }
    attributes.cap = qp->cap_;
    return qp.release();
}

int QueuePair::set_up(const ibv_qp_init_attr& attributes) {
    qp_context = attributes.qp_context;
    send_cq = attributes.send_cq;
    recv_cq = attributes.recv_cq;
    srq = attributes.srq;
    qp_type = attributes.qp_type;
    state = IBV_QPS_RESET;
    signal_all_ = attributes.sq_sig_all != 0;
    cap_ = attributes.cap;
    cap_.max_send_wr = std::max(cap_.max_send_wr, 1u);
    cap_.max_send_sge = std::max(cap_.max_send_sge, 1u);
    cap_.max_recv_wr = srq ? 0 : std::bit_ceil(std::max(cap_.max_recv_wr, 1u));
    cap_.max_recv_sge = srq ? 0 : std::max(cap_.max_recv_sge, 1u);
    cap_.max_inline_data = std::max(cap_.max_inline_data, 64u);
    if (const int cause = allocate_sends()) return cause;
    if (const int cause = allocate_receives()) return cause;
    staging_ = adapter_.arena().allocate(staging_bytes());
    if (staging_ == 0) return ENOMEM;
    if (qp_type == IBV_QPT_UD) {
        support::SpinLockGuard guard(send_lock_);
        datagrams_ = std::make_unique<DatagramSender>(*this);
    }
    support::MutexLock lock(adapter_.mutex);
    const Result<std::uint32_t> number = adapter_.take_qp_num();
    if (!number) return number.error();
    int cause = publish(*number);
    if (cause == 0) cause = enlist();
    if (cause != 0) adapter_.return_qp_num(*number);
    return cause;
}

/// Enters the queue pair in the tables.
/// @return 0, or ENOMEM, after which neither peers nor this process find it.
int QueuePair::enlist() {
    try {
        if (srq) shared_queue()->attach(this);
        adapter_.add(this);
    } catch (const std::bad_alloc&) {
        if (srq) shared_queue()->detach(this);
        entry_->qp_num.store(0, std::memory_order_release);
        return ENOMEM;
    }
    ++domain().users;
    ++send_queue().users;
    ++receive_queue().users;
    return 0;
}

std::uint32_t QueuePair::staging_bytes() const {
    return qp_type == IBV_QPT_UD ? kDatagramMtu : kSlotInlineBytes;
}

void QueuePair::release_memory() {
    Arena& arena = adapter_.arena();
    if (receive_offset_ != 0) arena.release(receive_offset_, receive_bytes());
    if (staging_ != 0) arena.release(staging_, staging_bytes());
    if (agent_buffer_ != 0) arena.release(agent_buffer_, kAgentChunk);
}

int QueuePair::allocate_sends() {
    const std::size_t segments = cap_.max_send_sge * sizeof(Segment);
    const std::size_t inline_data = sizeof(Segment) + cap_.max_inline_data;
    const std::size_t address = qp_type == IBV_QPT_UD ? sizeof(AddressVector) : 0;
    const std::size_t bytes = sizeof(SendWork) + address + std::max(segments, inline_data);
    send_slot_stride_ = static_cast<std::uint32_t>((bytes + 63) / 64 * 64);
    return send_slots_.allocate(std::size_t{cap_.max_send_wr} * send_slot_stride_);
}

int QueuePair::allocate_receives() {
    if (srq) return qp_type == IBV_QPT_UD ? shared_queue()->hold_messages() : 0;
    receives_.size = cap_.max_recv_wr;
    receives_.max_sge = cap_.max_recv_sge;
    receives_.stride = slot_stride(cap_.max_recv_sge);
    receive_ids_ = std::make_unique<std::uint64_t[]>(receives_.size);
    const std::uint64_t bytes = receive_bytes();
    receive_offset_ = adapter_.arena().allocate(bytes);
    if (receive_offset_ == 0) return ENOMEM;
    receives_.slots = adapter_.view().array<std::uint8_t>(receive_offset_, bytes);
    return 0;
}

/// Fills in the entry by which peers find the queue pair. take_qp_num() has allocated its pages.
int QueuePair::publish(std::uint32_t number) {
    index_ = adapter_.index_of(number);
    qp_num = number;
    handle = number;
    entry_ = &adapter_.view().qp(index_);
    entry_->readiness.store(Readiness::kNotReady);
    entry_->generation.fetch_add(1);
    entry_->dest_qp_num = 0;
    entry_->pd = domain().number();
    entry_->access = 0;
    entry_->cq = receive_queue().index();
    entry_->srq = srq ? shared_queue()->index() + 1 : 0;
    entry_->ring_offset = srq ? shared_queue()->message_table() : receive_offset_;
    entry_->ring_size = receives_.size;
    entry_->slot_stride = receives_.stride;
    entry_->max_sge = receives_.max_sge;
    entry_->qp_type = static_cast<std::uint16_t>(qp_type);
    entry_->port = 0;
    entry_->qkey = 0;
    entry_->turn = 0;
    entry_->consumed = 0;
    entry_->established = 0;
    entry_->waiting = 0;
    entry_->transfer = 0;
    entry_->requester_word = 0;
    entry_->send_lock = reinterpret_cast<std::uintptr_t>(&send_lock_);
    entry_->fault = Fault::kNone;
    entry_->qp_num.store(number, std::memory_order_release);
    return 0;
}

int QueuePair::destroy(QueuePair* qp) {
    if (qp->handle != qp->qp_num) return ENOENT;
    if (qp->attachments_ != 0) return EBUSY;
    qp->finish_search();
    Adapter& adapter = qp->adapter_;
    qp->await_agent();
    if (const int cause = qp->close_to_requesters()) return cause;
    {
        support::MutexLock lock(adapter.mutex);
        adapter.remove_receiver(qp);
        qp->end_watch();
        qp->tear_down();
        adapter.remove(qp);
        adapter.return_qp_num(qp->qp_num);
    }
    Context::of(qp->context).events.retire(qp);
    --qp->domain().users;
    --qp->send_queue().users;
    --qp->receive_queue().users;
    qp->release_memory();
    delete qp;
    return 0;
}

/// After this nothing reaches the queue pair: its requesters are gone, and its completions are
/// removed.
void QueuePair::tear_down() {
    if (srq) shared_queue()->detach(this);
    {
        support::SpinLockGuard lock(send_lock_);
        reset();
        entry_->qp_num.store(0, std::memory_order_seq_cst);
        entry_->generation.fetch_add(1);
        if (agent_) agent_buffer_ = agent_->buffer;
    }
}

}  // namespace softverbs

extern "C" {

using softverbs::ProtectionDomain;
using softverbs::QueuePair;

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
    const softverbs::CancellationDisabled guard;
    try {
        return QueuePair::create(ProtectionDomain::of(pd), *attributes);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

int ibv_destroy_qp(ibv_qp* qp) {
    const softverbs::CancellationDisabled guard;
    return softverbs::also_errno(QueuePair::destroy(&QueuePair::of(qp)));
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
    const softverbs::CancellationDisabled guard;
    try {
        return softverbs::also_errno(QueuePair::of(qp).modify(*attributes, mask));
    } catch (const std::bad_alloc&) {
        return softverbs::also_errno(ENOMEM);
    }
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
    QueuePair::of(qp).query(*attributes, *init);
    return 0;
}

/// The device has no vendor options to negotiate.
int ibv_query_ece(ibv_qp*, ibv_ece* ece) {
    *ece = {};
    return 0;
}

int ibv_set_ece(ibv_qp*, ibv_ece* ece) {
    if (ece->comp_mask != 0) return softverbs::also_errno(EINVAL);
    const bool is_none = ece->vendor_id == 0 && ece->options == 0;
    return softverbs::also_errno(is_none ? 0 : EOPNOTSUPP);
}

/// No order is guaranteed but that the last bytes come last.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
    return 0;
}

}  // extern "C"
