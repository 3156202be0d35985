// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// ibv_create_qp_ex, and the calls that build a list of sends. ibv_wr_complete posts the list as
/// ibv_post_send would, but all of it or nothing.
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/verbs/extended_objects.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/xrc_domain.hpp"

/// ibv_wr_start leaves the lock taken, ibv_wr_complete and ibv_wr_abort release it. The program
/// runs between them, which the analysis cannot see. A queue pair in a thread domain has variants
/// of these three without the lock.
#define BETWEEN_START_AND_END NO_THREAD_SAFETY_ANALYSIS

namespace softverbs {
namespace {

SendBuilder& builder(ibv_qp_ex* qp) {
    return *QueuePair::of(&qp->qp_base).builder();
}

ibv_send_wr& add(ibv_qp_ex* qp, ibv_wr_opcode opcode) BETWEEN_START_AND_END {
    return builder(qp).add(opcode, qp->wr_id, qp->wr_flags);
}

void add_rdma(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address,
              __be32 imm_data = 0) {
    ibv_send_wr& wr = add(qp, opcode);
    wr.imm_data = imm_data;
    wr.wr.rdma.rkey = rkey;
    wr.wr.rdma.remote_addr = address;
}

void add_atomic(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address,
                std::uint64_t compare_add, std::uint64_t swap) {
    ibv_send_wr& wr = add(qp, opcode);
    wr.wr.atomic.rkey = rkey;
    wr.wr.atomic.remote_addr = address;
    wr.wr.atomic.compare_add = compare_add;
    wr.wr.atomic.swap = swap;
}

void wr_start(ibv_qp_ex* qp) BETWEEN_START_AND_END {
    builder(qp).begin();
}

int wr_complete(ibv_qp_ex* qp) BETWEEN_START_AND_END {
    SendBuilder& list = builder(qp);
    int cause = list.cause();
    if (cause == 0 && list.first()) cause = QueuePair::of(&qp->qp_base).post_all(list.first());
    list.end();
    return also_errno(cause);
}

void wr_abort(ibv_qp_ex* qp) BETWEEN_START_AND_END {
    builder(qp).end();
}

void wr_start_alone(ibv_qp_ex* qp) BETWEEN_START_AND_END {
    builder(qp).begin_alone();
}

int wr_complete_alone(ibv_qp_ex* qp) BETWEEN_START_AND_END {
    SendBuilder& list = builder(qp);
    const int cause = list.cause();
    if (cause != 0 || !list.first()) return also_errno(cause);
    return also_errno(QueuePair::of(&qp->qp_base).post_all(list.first()));
}

void wr_abort_alone(ibv_qp_ex*) {}

void wr_send(ibv_qp_ex* qp) {
    add(qp, IBV_WR_SEND);
}
void wr_send_imm(ibv_qp_ex* qp, __be32 imm_data) {
    add(qp, IBV_WR_SEND_WITH_IMM).imm_data = imm_data;
}
void wr_send_inv(ibv_qp_ex* qp, std::uint32_t key) {
    add(qp, IBV_WR_SEND_WITH_INV).invalidate_rkey = key;
}
void wr_rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
    add_rdma(qp, IBV_WR_RDMA_WRITE, rkey, address);
}
void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, __be32 imm_data) {
    add_rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address, imm_data);
}
void wr_rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
    add_rdma(qp, IBV_WR_RDMA_READ, rkey, address);
}
void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                       std::uint64_t compare, std::uint64_t swap) {
    add_atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address, compare, swap);
}
void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                         std::uint64_t addend) {
    add_atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address, addend, 0);
}
void wr_local_inv(ibv_qp_ex* qp, std::uint32_t key) {
    add(qp, IBV_WR_LOCAL_INV).invalidate_rkey = key;
}
/// A window of type 1 is bound by ibv_bind_mw instead.
void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* window, std::uint32_t rkey,
                const ibv_mw_bind_info* info) BETWEEN_START_AND_END {
    ibv_send_wr& wr = add(qp, IBV_WR_BIND_MW);
    if (window->type != IBV_MW_TYPE_2) builder(qp).fail(EINVAL);
    wr.bind_mw.mw = window;
    wr.bind_mw.rkey = rkey;
    wr.bind_mw.bind_info = *info;
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address,
                std::uint32_t length) BETWEEN_START_AND_END {
    const ibv_sge segment = {address, length, lkey};
    builder(qp).set_segments(&segment, 1);
}
void wr_set_sge_list(ibv_qp_ex* qp, std::size_t count,
                     const ibv_sge* segments) BETWEEN_START_AND_END {
    builder(qp).set_segments(segments, count);
}
void wr_set_inline_data(ibv_qp_ex* qp, void* data, std::size_t length) BETWEEN_START_AND_END {
    const ibv_data_buf buffer = {data, length};
    builder(qp).set_inline(&buffer, 1);
}
void wr_set_inline_data_list(ibv_qp_ex* qp, std::size_t count,
                             const ibv_data_buf* buffers) BETWEEN_START_AND_END {
    builder(qp).set_inline(buffers, count);
}
void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* handle, std::uint32_t remote_qpn,
                    std::uint32_t remote_qkey) BETWEEN_START_AND_END {
    ibv_send_wr& wr = builder(qp).current();
    wr.wr.ud.ah = handle;
    wr.wr.ud.remote_qpn = remote_qpn;
    wr.wr.ud.remote_qkey = remote_qkey;
}

void wr_set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t remote_srqn) BETWEEN_START_AND_END {
    builder(qp).current().qp_type.xrc.remote_srqn = remote_srqn;
}

// A feature that the device lacks makes the list fail.
void wr_send_tso(ibv_qp_ex* qp, void*, std::uint16_t, std::uint16_t) BETWEEN_START_AND_END {
    builder(qp).fail(EOPNOTSUPP);
}

void fill(ibv_qp_ex& qp, bool is_of_one_thread) {
    qp.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    qp.wr_atomic_fetch_add = wr_atomic_fetch_add;
    qp.wr_bind_mw = wr_bind_mw;
    qp.wr_local_inv = wr_local_inv;
    qp.wr_rdma_read = wr_rdma_read;
    qp.wr_rdma_write = wr_rdma_write;
    qp.wr_rdma_write_imm = wr_rdma_write_imm;
    qp.wr_send = wr_send;
    qp.wr_send_imm = wr_send_imm;
    qp.wr_send_inv = wr_send_inv;
    qp.wr_send_tso = wr_send_tso;
    qp.wr_set_ud_addr = wr_set_ud_addr;
    qp.wr_set_xrc_srqn = wr_set_xrc_srqn;
    qp.wr_set_inline_data = wr_set_inline_data;
    qp.wr_set_inline_data_list = wr_set_inline_data_list;
    qp.wr_set_sge = wr_set_sge;
    qp.wr_set_sge_list = wr_set_sge_list;
    qp.wr_start = is_of_one_thread ? wr_start_alone : wr_start;
    qp.wr_complete = is_of_one_thread ? wr_complete_alone : wr_complete;
    qp.wr_abort = is_of_one_thread ? wr_abort_alone : wr_abort;
}

/// Returns the operations that a queue pair of this type can build. Types that the device lacks are
/// refused when the queue pair is created; XRC_RECV sends nothing.
std::uint64_t send_operations(ibv_qp_type type) {
    constexpr std::uint64_t kDatagram = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    constexpr std::uint64_t kUnreliable =
        kDatagram | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
        IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
    constexpr std::uint64_t kReliable = kUnreliable | IBV_QP_EX_WITH_RDMA_READ |
                                        IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                        IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    if (type == IBV_QPT_XRC_RECV) return 0;
    if (type == IBV_QPT_UD) return kDatagram;
    return type == IBV_QPT_UC ? kUnreliable : kReliable;
}

bool builds_sends(const ibv_qp_init_attr_ex& attributes) {
    return (attributes.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
}

std::uint32_t create_flags(const ibv_qp_init_attr_ex& attributes) {
    const bool has_flags = (attributes.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0;
    return has_flags ? attributes.create_flags : 0;
}

int check(const ibv_qp_init_attr_ex& attributes) {
    constexpr std::uint32_t kServed = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                      IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if ((attributes.comp_mask & ~kServed) != 0) return EOPNOTSUPP;
    if ((create_flags(attributes) & ~std::uint32_t{IBV_QP_CREATE_BLOCK_SELF_MCAST_LB}) != 0)
        return EOPNOTSUPP;
    const std::uint64_t wanted = builds_sends(attributes) ? attributes.send_ops_flags : 0;
    return (wanted & ~send_operations(attributes.qp_type)) == 0 ? 0 : EOPNOTSUPP;
}

template <class Object>
Object* one_of(ibv_context* context, Object* object) {
    return object && object->context->device == context->device ? object : nullptr;
}

/// @return what the queue pair is to belong to; its members are nullptr where the attributes name
/// nothing of this device.
QueuePair::Place place_for(ibv_context* context, const ibv_qp_init_attr_ex& attributes) {
    const bool has_pd = (attributes.comp_mask & IBV_QP_INIT_ATTR_PD) != 0;
    const bool has_xrcd = (attributes.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0;
    if (attributes.qp_type != IBV_QPT_XRC_RECV)
        return {context, has_pd ? one_of(context, attributes.pd) : nullptr, nullptr};
    ibv_xrcd* const xrcd = has_xrcd ? one_of(context, attributes.xrcd) : nullptr;
    return {context, nullptr, xrcd ? &OpenXrcDomain::of(xrcd) : nullptr};
}

QueuePair* create(ibv_context* context, ibv_qp_init_attr_ex& attributes) {
    const QueuePair::Place place = place_for(context, attributes);
    if (!place.pd && !place.xrcd) {
        errno = EINVAL;
        return nullptr;
    }
    ibv_qp_init_attr plain{};
    plain.qp_context = attributes.qp_context;
    plain.send_cq = attributes.send_cq;
    plain.recv_cq = attributes.recv_cq;
    plain.srq = attributes.srq;
    plain.cap = attributes.cap;
    plain.qp_type = attributes.qp_type;
    plain.sq_sig_all = attributes.sq_sig_all;
    QueuePair* qp = QueuePair::create(place, plain);
    if (!qp) return nullptr;
    attributes.cap = plain.cap;
    if (create_flags(attributes) != 0) qp->block_own_multicast();
    const int cause = builds_sends(attributes) ? qp->make_extended() : 0;
    if (cause == 0) return qp;
    QueuePair::destroy(qp);
    errno = cause;
    return nullptr;
}

}  // namespace

int QueuePair::make_extended() {
    std::unique_ptr<SendBuilder> made(new (std::nothrow) SendBuilder);
    if (!made) return ENOMEM;
    if (const int cause = made->allocate(cap_)) return cause;
    builder_ = std::move(made);
    fill(extended(), pd && ProtectionDomain::of(pd).thread_users);
    return 0;
}

ibv_qp* create_extended_qp(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
    const CancellationDisabled guard;
    if (const int cause = check(*attributes)) {
        errno = cause;
        return nullptr;
    }
    try {
        return create(context, *attributes);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

}  // namespace softverbs

extern "C" {

/// @return nullptr for a queue pair that was created without send operations.
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
    softverbs::QueuePair& mine = softverbs::QueuePair::of(qp);
    return mine.builder() ? &mine.extended() : nullptr;
}

}  // extern "C"
