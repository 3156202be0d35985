// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/agent.hpp"
#include "providers/soft/softverbs/verbs/datagram.hpp"
#include "providers/soft/softverbs/verbs/ended_objects.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/xrc_domain.hpp"
#include "support/base/made_node.hpp"

namespace softverbs {
namespace {

bool is_known(ibv_qp_type type) {
    return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD ||
           type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

template <class Object>
bool is_of(const ibv_device* device, const Object* object) {
    return object && object->context->device == device;
}

/// Inline data that each send queue takes, whatever was asked for. A datagram may wait until its
/// destination has been found. UCX asks for 64 bytes, but its request for a connection has 65 if it
/// has a global route, and it reuses the buffer before that send has completed (openucx/ucx#6040).
constexpr std::uint32_t kLeastInline = 64, kLeastDatagramInline = 128;

/// Leaves the attributes that the type uses. An XRC queue pair has no receive queue, and an
/// XRC_RECV queue pair no send queue either.
ibv_qp_init_attr used_attributes(const ibv_qp_init_attr& attributes) {
    ibv_qp_init_attr used = attributes;
    if (!is_xrc(used.qp_type)) return used;
    used.recv_cq = nullptr;
    used.srq = nullptr;
    used.cap.max_recv_wr = used.cap.max_recv_sge = 0;
    if (used.qp_type == IBV_QPT_XRC_SEND) return used;
    used.send_cq = nullptr;
    used.cap = {};
    return used;
}

int check_attributes(const ibv_device* device, const ibv_qp_init_attr& attributes) {
    const ibv_qp_cap& cap = attributes.cap;
    const ibv_qp_type type = attributes.qp_type;
    if (!is_known(type)) return EOPNOTSUPP;
    if (type != IBV_QPT_XRC_RECV && !is_of(device, attributes.send_cq)) return EINVAL;
    if (!is_xrc(type) && !is_of(device, attributes.recv_cq)) return EINVAL;
    if (attributes.srq && !is_of(device, attributes.srq)) return EINVAL;
    if (type == IBV_QPT_UC && attributes.srq) return EINVAL;
    const bool is_private = !attributes.srq || !SharedReceiveQueue::of(attributes.srq).is_xrc();
    if (!is_private) return EINVAL;
    const bool fits = cap.max_send_wr <= kMaxWorkRequests && cap.max_recv_wr <= kMaxWorkRequests &&
                      cap.max_send_sge <= kMaxSge && cap.max_recv_sge <= kMaxSge &&
                      cap.max_inline_data <= kMaxInline;
    return fits ? 0 : EINVAL;
}

}  // namespace

QueuePair::QueuePair(const Place& place)
    : adapter_(*Context::of(place.context).adapter),
      device_(Context::of(place.context).device),
      xrcd_(place.xrcd) {
    if (xrcd_) xrc_domain_ = xrcd_->domain;
    context = place.context;
    pd = place.pd;
    pthread_mutex_init(&mutex, nullptr);
    pthread_cond_init(&cond, nullptr);
}

QueuePair::~QueuePair() {
    pthread_mutex_destroy(&mutex);
    pthread_cond_destroy(&cond);
}

QueuePair* QueuePair::create(const Place& place, ibv_qp_init_attr& attributes) {
    if (is_refused(place.context, faults::Subject::kCreateQp)) return nullptr;
    const ibv_qp_init_attr used = used_attributes(attributes);
    if (const int cause = check_attributes(place.context->device, used)) {
        errno = cause;
        return nullptr;
    }
    std::unique_ptr<QueuePair> qp(new QueuePair(place));
    int cause = ENOMEM;
    try {
        cause = qp->set_up(used);
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
    is_reliable_ = qp_type != IBV_QPT_UC && qp_type != IBV_QPT_UD;
    set_capacity(attributes.cap);
    ordinal_ = adapter_.process().faults().count_queue_pair();
    if (const int cause = allocate_sends()) return cause;
    if (const int cause = allocate_receives()) return cause;
    staging_ = adapter_.arena().allocate(staging_bytes());
    if (staging_ == 0) return ENOMEM;
    if (qp_type == IBV_QPT_UD) {
        support::SpinLockGuard guard(send_lock_);
        datagrams_ = std::make_unique<DatagramSender>(*this);
    }
    Known made = make_known();
    support::MutexLock lock(adapter_.mutex);
    const Result<std::uint32_t> number = adapter_.take_qp_num();
    if (!number) return number.error();
    publish(*number);
    enlist(std::move(made));
    return 0;
}

void QueuePair::set_capacity(const ibv_qp_cap& wanted) {
    cap_ = wanted;
    const bool has_receives = recv_cq && !srq;
    cap_.max_recv_wr = has_receives ? std::bit_ceil(std::max(cap_.max_recv_wr, 1u)) : 0;
    cap_.max_recv_sge = has_receives ? std::max(cap_.max_recv_sge, 1u) : 0;
    {
        support::SpinLockGuard lock(receive_lock_);
        receive_limit_ = cap_.max_recv_wr;
    }
    if (!send_cq) return;
    cap_.max_send_wr = std::max(cap_.max_send_wr, 1u);
    cap_.max_send_sge = std::max(cap_.max_send_sge, 1u);
    const std::uint32_t least = qp_type == IBV_QPT_UD ? kLeastDatagramInline : kLeastInline;
    cap_.max_inline_data = std::max(cap_.max_inline_data, least);
    support::SpinLockGuard lock(send_lock_);
    send_limit_ = cap_.max_send_wr;
}

/// Enters the queue pair in the tables.
void QueuePair::enlist(Known made) {
    attach(std::move(made));
    adapter_.add(this);
    count_uses(1);
}

QueuePair::Known QueuePair::make_known() {
    Known made;
    if (srq) made.shared_receives = support::made_node<Handles>(this);
    if (!xrc_domain_) return made;
    made.handle = support::made_node<Handles>(this);
    made.domain = support::made_node<Handles>(this);
    return made;
}

/// Makes whoever posts receives that the queue pair takes know it.
void QueuePair::attach(Known made) {
    if (srq) shared_queue()->attach(std::move(made.shared_receives));
    if (!xrc_domain_) return;
    add_handle(std::move(made.handle));
    xrc_domain_->add<QueuePair>(std::move(made.domain));
}

QueuePair::Known QueuePair::detach() {
    Known gone;
    if (srq) gone.shared_receives = shared_queue()->detach(this);
    if (xrc_domain_) gone.domain = xrc_domain_->remove(this);
    return gone;
}

void QueuePair::count_uses(int change) {
    if (pd) domain().users += change;
    if (send_cq) send_queue().users += change;
    if (recv_cq) receive_queue().users += change;
    if (xrcd_) xrcd_->users += change;
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
    return send_cq ? send_slots_.allocate(std::size_t{cap_.max_send_wr} * send_slot_stride_) : 0;
}

int QueuePair::allocate_receives() {
    if (srq) return qp_type == IBV_QPT_UD ? shared_queue()->hold_messages() : 0;
    if (!recv_cq) return 0;
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
void QueuePair::publish(std::uint32_t number) {
    index_ = adapter_.index_of(number);
    qp_num = number;
    handle = number;
    entry_ = &adapter_.begin_entry(number);
    entry_->pd = pd_number();
    if (recv_cq) entry_->cq = receive_queue().index();
    entry_->srq = srq ? shared_queue()->index() + 1 : 0;
    entry_->ring_offset = srq ? shared_queue()->message_table() : receive_offset_;
    entry_->ring_size = receives_.size;
    entry_->slot_stride = receives_.stride;
    entry_->max_sge = receives_.max_sge;
    entry_->qp_type = static_cast<std::uint16_t>(qp_type);
    entry_->send_lock = reinterpret_cast<std::uintptr_t>(&send_lock_);
    if (xrc_domain_) entry_->xrc_domain = xrc_domain_->number;
    entry_->qp_num.store(number, std::memory_order_release);
}

int QueuePair::destroy(QueuePair* one) {
    if (one->handle != one->qp_num) return ENOENT;
    QueuePair* const qp = &one->real();
    if (qp->attachments_ != 0) return EBUSY;
    const bool is_last = qp->give_up_handle(*one);
    if (const int cause = is_last ? qp->close() : 0) return cause;
    Context::of(one->context).events.retire(one);
    one->count_uses(-1);
    if (is_last) qp->release_memory();
    if (is_last || one != qp) end_object(one);
    if (is_last && one != qp) end_object(qp);
    return 0;
}

/// After this nobody finds the queue pair. @return 0 or EBUSY.
int QueuePair::close() {
    finish_search();
    await_agent();
    if (const int cause = close_to_requesters()) return cause;
    Known gone;
    support::MutexLock lock(adapter_.mutex);
    adapter_.remove_receiver(this);
    end_watch();
    gone = tear_down();
    adapter_.remove(this);
    adapter_.return_qp_num(qp_num);
    return 0;
}

/// After this nothing reaches the queue pair: its requesters are gone, and its completions are
/// removed.
QueuePair::Known QueuePair::tear_down() {
    Known gone = detach();
    support::SpinLockGuard lock(send_lock_);
    reset();
    entry_->qp_num.store(0, std::memory_order_seq_cst);
    entry_->generation.fetch_add(1);
    if (agent_) agent_buffer_ = agent_->buffer;
    return gone;
}

}  // namespace softverbs

extern "C" {

using softverbs::QueuePair;

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
    const softverbs::CancellationDisabled guard;
    if (attributes->qp_type == IBV_QPT_XRC_RECV) {  // has a domain instead
        errno = EINVAL;
        return nullptr;
    }
    try {
        return QueuePair::create({pd->context, pd, nullptr}, *attributes);
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
    if (softverbs::is_refused(qp->context, softverbs::faults::Subject::kModifyQp)) return errno;
    try {
        return softverbs::also_errno(QueuePair::of(qp).modify_real(*attributes, mask));
    } catch (const std::bad_alloc&) {
        return softverbs::also_errno(ENOMEM);
    }
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init) {
    QueuePair::of(qp).real().query(*attributes, *init);
    if ((mask & IBV_QP_STATE) != 0) QueuePair::of(qp).note_state(attributes->qp_state);
    init->qp_context = qp->qp_context;
    return 0;
}

/// The device has no vendor options to negotiate, and answers as libibverbs does for one without.
int ibv_query_ece(ibv_qp*, ibv_ece*) {
    return softverbs::also_errno(EOPNOTSUPP);
}

int ibv_set_ece(ibv_qp*, ibv_ece*) {
    return softverbs::also_errno(EOPNOTSUPP);
}

/// No order is guaranteed but that the last bytes come last.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
    return 0;
}

}  // extern "C"
