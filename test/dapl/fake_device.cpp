// SPDX-License-Identifier: BSD-2-Clause
#include "test/dapl/fake_device.hpp"

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "dapl/base/pool.hpp"
#include "dapl/provider/entry.hpp"
#include "dapl/provider/provider.hpp"

namespace {

struct Cq {
    ibv_cq base;
    std::deque<ibv_wc> completions;
    bool armed;
    int unacknowledged;
};

struct CompletionChannel {
    ibv_comp_channel base;
    std::deque<ibv_cq*> announced;
};

struct Qp {
    ibv_qp base;
    std::vector<fake::Work> requests;
    std::vector<fake::Work> receives;
    int async_unacknowledged;
};

struct Srq {
    ibv_srq base;
    std::vector<fake::Work> receives;
    std::uint32_t limit;
};

std::mutex mutex;
std::atomic<int> alive;
std::array<std::atomic<int>, IBV_QPS_UNKNOWN + 1> moves;
std::atomic<int> refusal;
std::atomic<int> polled;
std::atomic<bool> has_atomics{true};
std::uint32_t next_number = 1;
fake::Flushing flushing = fake::Flushing::kAtOnce;

Cq& as_cq(ibv_cq* cq) {
    return *reinterpret_cast<Cq*>(cq);
}
CompletionChannel& as_channel(ibv_comp_channel* channel) {
    return *reinterpret_cast<CompletionChannel*>(channel);
}
Qp& as_qp(ibv_qp* qp) {
    return *reinterpret_cast<Qp*>(qp);
}

Srq& as_srq(ibv_srq* srq) {
    return *reinterpret_cast<Srq*>(srq);
}

void complete(ibv_cq* queue, const ibv_wc& completion) {
    Cq& cq = as_cq(queue);
    cq.completions.push_back(completion);
    if (!cq.armed || !queue->channel) return;
    cq.armed = false;
    as_channel(queue->channel).announced.push_back(queue);
    eventfd_write(queue->channel->fd, 1);
}

int poll_cq(ibv_cq* queue, int entries, ibv_wc* out) {
    ++polled;
    const std::lock_guard guard(mutex);
    auto& completions = as_cq(queue).completions;
    int taken = 0;
    for (; taken < entries && !completions.empty(); ++taken) {
        out[taken] = completions.front();
        completions.pop_front();
    }
    return taken;
}

int req_notify_cq(ibv_cq* queue, int) {
    const std::lock_guard guard(mutex);
    as_cq(queue).armed = true;
    return 0;
}

std::uint32_t total(const ibv_sge* list, int count) {
    std::uint32_t length = 0;
    for (int i = 0; i < count; ++i) length += list[i].length;
    return length;
}

void flush(Qp& qp);

int post_send(ibv_qp* pair, ibv_send_wr* work, ibv_send_wr**) {
    const std::lock_guard guard(mutex);
    Qp& qp = as_qp(pair);
    if (pair->state == IBV_QPS_INIT) return EINVAL;
    fake::Work posted{work->wr_id, work->opcode, work->send_flags,
                      total(work->sg_list, work->num_sge), work->imm_data};
    if (work->opcode == IBV_WR_RDMA_READ || work->opcode == IBV_WR_RDMA_WRITE)
        posted.remote_address = work->wr.rdma.remote_addr;
    if ((posted.flags & IBV_SEND_INLINE) && posted.length == sizeof posted.inlined)
        std::memcpy(&posted.inlined, reinterpret_cast<const void*>(work->sg_list[0].addr),
                    sizeof posted.inlined);
    qp.requests.push_back(posted);
    if (pair->state == IBV_QPS_ERR && flushing == fake::Flushing::kAtOnce) flush(qp);
    return 0;
}

int post_recv(ibv_qp* pair, ibv_recv_wr* work, ibv_recv_wr**) {
    const std::lock_guard guard(mutex);
    Qp& qp = as_qp(pair);
    qp.receives.push_back({work->wr_id, IBV_WR_SEND, 0, total(work->sg_list, work->num_sge), 0});
    if (pair->state == IBV_QPS_ERR && flushing == fake::Flushing::kAtOnce) flush(qp);
    return 0;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* work, ibv_recv_wr**) {
    const std::lock_guard guard(mutex);
    if (refusal) return refusal;
    as_srq(srq).receives.push_back(
        {work->wr_id, IBV_WR_SEND, 0, total(work->sg_list, work->num_sge), 0});
    return 0;
}

void finish(Qp& qp, bool receive, ibv_wc completion) {
    auto& own = receive ? qp.receives : qp.requests;
    auto& posted = receive && qp.base.srq ? as_srq(qp.base.srq).receives : own;
    if (posted.empty()) throw std::logic_error("nothing is posted");
    const fake::Work work = posted.front();
    posted.erase(posted.begin());
    completion.wr_id = work.id;
    completion.qp_num = qp.base.qp_num;
    const bool silent =
        !receive && completion.status == IBV_WC_SUCCESS && !(work.flags & IBV_SEND_SIGNALED);
    if (!silent) complete(receive ? qp.base.recv_cq : qp.base.send_cq, completion);
}

void flush(Qp& qp) {
    ibv_wc completion{};
    completion.status = IBV_WC_WR_FLUSH_ERR;
    while (!qp.requests.empty()) finish(qp, false, completion);
    while (!qp.receives.empty()) finish(qp, true, completion);
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
    ++alive;
    const std::lock_guard guard(mutex);
    return new ibv_mw{pd->context, pd, next_number++ << 8, 0, type};
}

int bind_mw(ibv_qp* pair, ibv_mw* window, ibv_mw_bind* bind) {
    ibv_send_wr work{};
    work.wr_id = bind->wr_id;
    work.opcode = IBV_WR_BIND_MW;
    work.send_flags = bind->send_flags;
    const int refused = post_send(pair, &work, nullptr);
    if (refused == 0) window->rkey = ibv_inc_rkey(window->rkey);
    return refused;
}

int dealloc_mw(ibv_mw* window) {
    --alive;
    delete window;
    return 0;
}

struct Adapter {
    ibv_device device{};
    ibv_context context{};
    ibv_port_attr port{};
    std::deque<ibv_async_event> async_events;
};

Adapter& adapter(int number) {
    static Adapter* const adapters = [] {
        auto* made = new Adapter[fake::kAdapters];
        for (int i = 0; i < fake::kAdapters; ++i) {
            Adapter& one = made[i];
            std::strcpy(one.device.name, i == 0 ? "fake0" : "fake1");
            one.device.transport_type = i == 0 ? IBV_TRANSPORT_IB : IBV_TRANSPORT_IWARP;
            one.context.device = &one.device;
            one.context.ops.alloc_mw = alloc_mw;
            one.context.ops.bind_mw = bind_mw;
            one.context.ops.dealloc_mw = dealloc_mw;
            one.context.ops.poll_cq = poll_cq;
            one.context.ops.req_notify_cq = req_notify_cq;
            one.context.ops.post_send = post_send;
            one.context.ops.post_recv = post_recv;
            one.context.ops.post_srq_recv = post_srq_recv;
            one.context.async_fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK);
            one.port.state = i == 0 ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
            one.port.active_mtu = i == 0 ? IBV_MTU_4096 : IBV_MTU_1024;
            one.port.max_msg_sz = 1U << 30;
        }
        return made;
    }();
    return adapters[number];
}
int number_of(const ibv_context* context) {
    return context == &adapter(0).context ? 0 : 1;
}

dapl::Provider providers[fake::kAdapters] = {};
constexpr const char* kNames[fake::kAdapters] = {"fake", "second"};

}  // namespace

namespace dapl {

const Provider* find_provider(const char* name) {
    for (int i = 0; i < fake::kAdapters; ++i)
        if (std::strcmp(name, kNames[i]) == 0) return &providers[i];
    return nullptr;
}

}  // namespace dapl

extern "C" {

DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE* other) {
    *other = handle;
    return DAT_SUCCESS;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
    *attributes = {};
    const int number = number_of(context);
    std::strcpy(attributes->fw_ver, number == 0 ? "12.34.5" : "unnumbered");
    attributes->vendor_id = number == 0 ? 0x2c9 : 0;
    attributes->hw_ver = 7;
    attributes->max_qp = number == 0 ? 1000 : 500;
    attributes->max_qp_wr = 4096;
    attributes->max_sge = 16;
    attributes->max_cq = 1000;
    attributes->max_cqe = 65536;
    attributes->max_mr = 1000;
    attributes->max_pd = 1000;
    if (number == 0) {
        attributes->device_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
        attributes->max_mw = 1000;
        attributes->max_srq = 1000;
        attributes->max_srq_wr = 4096;
        attributes->max_srq_sge = 16;
    }
    attributes->max_mr_size = 1ULL << 40;
    attributes->max_qp_rd_atom = 16;
    attributes->max_qp_init_rd_atom = 16;
    attributes->atomic_cap = number == 0 && has_atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
    return 0;
}

#undef ibv_query_port
int ibv_query_port(ibv_context* context, std::uint8_t, _compat_ibv_port_attr* attributes) {
    const ibv_port_attr& port = adapter(number_of(context)).port;
    std::memcpy(static_cast<void*>(attributes), &port, sizeof port);
    return 0;
}
int ibv_query_gid(ibv_context*, std::uint8_t, int, ibv_gid* gid) {
    *gid = {};
    return 0;
}
int ibv_query_pkey(ibv_context*, std::uint8_t, int, __be16* key) {
    *key = 0xFFFF;
    return 0;
}
const char* ibv_get_device_name(ibv_device* named) {
    return named->name;
}
__be64 ibv_get_device_guid(ibv_device*) {
    return 0;
}

ibv_pd* ibv_alloc_pd(ibv_context* on) {
    ++alive;
    return new ibv_pd{on, 0};
}
int ibv_dealloc_pd(ibv_pd* pd) {
    --alive;
    delete pd;
    return 0;
}

static ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length) {
    if (!address) {
        errno = EFAULT;
        return nullptr;
    }
    if (refusal) {
        errno = refusal;
        return nullptr;
    }
    ++alive;
    const std::uint32_t key = next_number++;
    return new ibv_mr{pd->context, pd, address, length, 0, key, key};
}
#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int) {
    return register_memory(pd, address, length);
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t, unsigned) {
    return register_memory(pd, address, length);
}
int ibv_dereg_mr(ibv_mr* mr) {
    --alive;
    delete mr;
    return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* on) {
    ++alive;
    auto* channel = new CompletionChannel{{on, eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE), 0}, {}};
    return &channel->base;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    --alive;
    close(channel->fd);
    delete &as_channel(channel);
    return 0;
}

ibv_cq* ibv_create_cq(ibv_context* on, int entries, void* user, ibv_comp_channel* channel, int) {
    if (refusal) {
        errno = refusal;
        return nullptr;
    }
    ++alive;
    Cq* cq = new Cq{};
    cq->base.context = on;
    cq->base.channel = channel;
    cq->base.cq_context = user;
    cq->base.cqe = entries;
    return &cq->base;
}
int ibv_resize_cq(ibv_cq* cq, int entries) {
    if (refusal) return refusal;
    cq->cqe = entries;
    return 0;
}
int ibv_destroy_cq(ibv_cq* cq) {
    for (;;) {  // waits as libibverbs does until all events are acknowledged
        const std::lock_guard guard(mutex);
        if (cq->channel) std::erase(as_channel(cq->channel).announced, cq);
        if (as_cq(cq).unacknowledged == 0) break;
    }
    --alive;
    delete &as_cq(cq);
    return 0;
}
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) {
    eventfd_t count;
    if (eventfd_read(channel->fd, &count) != 0) return -1;
    const std::lock_guard guard(mutex);
    auto& announced = as_channel(channel).announced;
    if (announced.empty()) {  // its queue was destroyed
        errno = EAGAIN;
        return -1;
    }
    *cq = announced.front();
    *user = (*cq)->cq_context;
    ++as_cq(*cq).unacknowledged;
    announced.pop_front();
    return 0;
}
void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
    const std::lock_guard guard(mutex);
    as_cq(cq).unacknowledged -= static_cast<int>(count);
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
    if (refusal) {
        errno = refusal;
        return nullptr;
    }
    ++alive;
    Qp* qp = new Qp{};
    qp->base.context = pd->context;
    qp->base.pd = pd;
    qp->base.qp_context = attributes->qp_context;
    qp->base.send_cq = attributes->send_cq;
    qp->base.recv_cq = attributes->recv_cq;
    qp->base.srq = attributes->srq;
    qp->base.qp_num = next_number++;
    return &qp->base;
}
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int) {
    const std::lock_guard guard(mutex);
    const bool enters = qp->state != IBV_QPS_ERR;
    qp->state = attributes->qp_state;
    ++moves[qp->state];
    if (qp->state == IBV_QPS_ERR &&
        (flushing == fake::Flushing::kAtOnce || (flushing == fake::Flushing::kOnEntry && enters)))
        flush(as_qp(qp));
    return 0;
}
int ibv_destroy_qp(ibv_qp* qp) {
    for (;;) {  // waits as libibverbs does until all events are acknowledged
        const std::lock_guard guard(mutex);
        if (as_qp(qp).async_unacknowledged == 0) break;
    }
    --alive;
    delete &as_qp(qp);
    return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
    const std::lock_guard guard(mutex);
    attributes->qp_state = qp->state;
    return 0;
}
ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr*) {
    if (refusal) {
        errno = refusal;
        return nullptr;
    }
    ++alive;
    return new ibv_ah{pd->context, pd, 0};
}
int ibv_destroy_ah(ibv_ah* address) {
    --alive;
    delete address;
    return 0;
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr*) {
    if (refusal) {
        errno = refusal;
        return nullptr;
    }
    ++alive;
    Srq* srq = new Srq{};
    srq->base.context = pd->context;
    srq->base.pd = pd;
    return &srq->base;
}
int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
    if (refusal) return refusal;
    if (mask & IBV_SRQ_LIMIT) as_srq(srq).limit = attributes->srq_limit;
    return 0;
}
int ibv_destroy_srq(ibv_srq* srq) {
    --alive;
    delete &as_srq(srq);
    return 0;
}

int ibv_get_async_event(ibv_context* on, ibv_async_event* event) {
    eventfd_t count;
    if (eventfd_read(on->async_fd, &count) != 0) return -1;
    const std::lock_guard guard(mutex);
    auto& events = adapter(number_of(on)).async_events;
    *event = events.front();
    events.pop_front();
    return 0;
}
void ibv_ack_async_event(ibv_async_event* event) {
    const std::lock_guard guard(mutex);
    if (event->event_type == IBV_EVENT_QP_FATAL) --as_qp(event->element.qp).async_unacknowledged;
}

}  // extern "C"

namespace fake {

ibv_context* context(int number) {
    return &adapter(number).context;
}

const std::vector<Work>& requests(ibv_qp* qp) {
    return as_qp(qp).requests;
}
const std::vector<Work>& receives(ibv_qp* qp) {
    return as_qp(qp).receives;
}

void finish_request(ibv_qp* qp, ibv_wc_status status) {
    const std::lock_guard guard(mutex);
    ibv_wc completion{};
    completion.status = status;
    finish(as_qp(qp), false, completion);
}

void finish_receive(ibv_qp* qp, std::uint32_t length, ibv_wc_status status, ibv_wc_opcode opcode,
                    std::uint32_t immediate) {
    const std::lock_guard guard(mutex);
    ibv_wc completion{};
    completion.status = status;
    completion.byte_len = length;
    completion.opcode = opcode;
    completion.imm_data = immediate;
    if (opcode == IBV_WC_RECV_RDMA_WITH_IMM) completion.wc_flags = IBV_WC_WITH_IMM;
    finish(as_qp(qp), true, completion);
}

void have_atomics(bool there) {
    has_atomics = there;
}

std::uint32_t limit(ibv_srq* srq) {
    return as_srq(srq).limit;
}

void set_flushing(Flushing wanted) {
    const std::lock_guard guard(mutex);
    flushing = wanted;
}
void flush(ibv_qp* qp) {
    const std::lock_guard guard(mutex);
    ::flush(as_qp(qp));
}

void inject(ibv_qp* qp, std::uint64_t id, ibv_wc_status status) {
    const std::lock_guard guard(mutex);
    ibv_wc completion{};
    completion.wr_id = id;
    completion.status = status;
    complete(qp->send_cq, completion);
}

void raise(const ibv_async_event& event, int number) {
    const std::lock_guard guard(mutex);
    adapter(number).async_events.push_back(event);
    if (event.event_type == IBV_EVENT_QP_FATAL) ++as_qp(event.element.qp).async_unacknowledged;
    eventfd_write(adapter(number).context.async_fd, 1);
}

int polls() {
    return polled;
}
void connect(ibv_qp* qp) {
    const std::lock_guard guard(mutex);
    qp->state = IBV_QPS_RTS;
}
int moves_to(ibv_qp_state state) {
    return moves[state];
}

int objects() {
    return alive;
}
void refuse(int error_number) {
    refusal = error_number;
}

OpenIa::OpenIa(int number, const char* ia_params, const dapl::Library& library) {
    dapl::Provider& provider = providers[number];
    provider.table = dapl::kProviderTable;
    std::strcpy(provider.info.ia_name, kNames[number]);
    provider.info.dapl_version_major = 2;
    std::strcpy(provider.parameters, ia_params);
    provider.library = library;
    if (dapl::entry::ia_open(provider.info.ia_name, 8, &async, &ia) != DAT_SUCCESS)
        throw std::runtime_error("the fake adapter does not open");
}

OpenIa::~OpenIa() {
    if (ia) dapl::entry::ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

}  // namespace fake
