// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Completions and events that the program takes.
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <atomic>

#include "check/verbs/context.hpp"
#include "check/verbs/ended.hpp"
#include "check/verbs/objects.hpp"
#include "check/verbs/routed.hpp"
#include "providers/soft/softverbs/failure.hpp"
#include "providers/soft/softverbs/verbs/event_object.hpp"

namespace check::verbs {
namespace {

/// @return how many bytes it has brought into its segments, as far as is known.
std::uint64_t data_of(const ibv_wc& wc) {
    if (wc.status != IBV_WC_SUCCESS || wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) return 0;
    const bool reads = wc.opcode == IBV_WC_RDMA_READ || wc.opcode == IBV_WC_COMP_SWAP ||
                       wc.opcode == IBV_WC_FETCH_ADD;
    return reads ? 1 : wc.byte_len;
}

bool is_receive(const ibv_cq* cq, const Endpoint& endpoint, const ibv_wc& wc) {
    if (endpoint.receive_queue != endpoint.request_queue) return endpoint.receive_queue == cq;
    return (wc.opcode & IBV_WC_RECV) != 0;
}

void end_transfer(Model& state, const ibv_cq* cq, const ibv_wc& wc, Found& found)
    REQUIRES(state.mutex) {
    Object* poster = state.objects.find_numbered(wc.qp_num);
    if (!poster || !poster->endpoint) return;
    if (wc.status != IBV_WC_SUCCESS) poster->endpoint->is_over = true;
    const bool receives = is_receive(cq, *poster->endpoint, wc);
    const void* shared = receives ? poster->endpoint->shared : nullptr;
    Object* queue = shared ? state.objects.find_live(shared) : poster;
    if (queue && queue->endpoint)
        state.complete(*queue,
                       {wc.wr_id, receives, data_of(wc), wc.status == IBV_WC_RNR_RETRY_EXC_ERR,
                        wc.status == IBV_WC_REM_ACCESS_ERR},
                       policy(), found);
}

void take(ibv_cq* cq, const char* call, const ibv_wc* wc, int count) {
    Found found;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        for (int i = 0; i < count; ++i) end_transfer(state, cq, wc[i], found);
    });
    if (!found.empty()) refuse(found, call);
}

using StartPoll = decltype(ibv_cq_ex::start_poll);
using NextPoll = decltype(ibv_cq_ex::next_poll);
/// The device's functions: those of queues of several threads, and of one.
std::atomic<StartPoll> start_functions[2];
std::atomic<NextPoll> next_function;

void take_current(ibv_cq_ex* cq, const char* call) {
    ibv_wc wc{};
    wc.wr_id = cq->wr_id;
    wc.status = cq->status;
    wc.opcode = ibv_wc_read_opcode(cq);
    wc.qp_num = ibv_wc_read_qp_num(cq);
    wc.byte_len = ibv_wc_read_byte_len(cq);
    take(ibv_cq_ex_to_cq(cq), call, &wc, 1);
}

template <int threads>
int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
    if (has_ended(cq->context)) [[unlikely]] {
        tell_gone("ibv_start_poll", cq, kCompletions);
        return EINVAL;
    }
    const int code = start_functions[threads].load(std::memory_order_relaxed)(cq, attributes);
    if (code == 0) take_current(cq, "ibv_start_poll");
    return code;
}

int next_poll(ibv_cq_ex* cq) {
    const int code = next_function.load(std::memory_order_relaxed)(cq);
    if (code == 0) take_current(cq, "ibv_next_poll");
    return code;
}

void count_taken(const void* handle, bool is_taken, std::uint64_t count) {
    if (!handle) return;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(handle);
        if (!object) return;
        const std::uint64_t before = object->taken;
        object->taken = is_taken ? before + count : before - std::min(before, count);
    });
}

}  // namespace

int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
    const int taken = originals().poll_cq(cq, count, wc);
    if (taken > 0) take(cq, "ibv_poll_cq", wc, taken);
    return taken;
}

void watch(ibv_cq_ex* cq, bool is_of_one_thread) {
    start_functions[is_of_one_thread].store(cq->start_poll, std::memory_order_relaxed);
    next_function.store(cq->next_poll, std::memory_order_relaxed);
    cq->start_poll = is_of_one_thread ? start_poll<1> : start_poll<0>;
    cq->next_poll = next_poll;
}

namespace {

bool find_endless(const ibv_comp_channel* channel, Found& found) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* object = state.objects.find_live(channel);
        if (!object || state.objects.is_fed(channel)) return;
        Finding& finding = found.add(Kind::kEndlessWait);
        finding.what = "completion channel";
        finding.made = object->made;
    });
    return !found.empty();
}

/// Checks a wait at a channel that no completion queue has. It may have events all the same, or
/// another thread may create a queue soon, so the finding is told after a while only.
/// @return 0, or the error with which the call must fail.
int check_endless(const char* call, const ibv_comp_channel* channel) {
    constexpr int kPatience = 1000;  // ms
    if (!policy().checks_for(kQueues) || (fcntl(channel->fd, F_GETFL) & O_NONBLOCK)) return 0;
    Found now, later;
    if (!find_endless(channel, now)) return 0;
    pollfd event{channel->fd, POLLIN, 0};
    if (poll(&event, 1, kPatience) != 0 || !find_endless(channel, later)) return 0;
    return refuse(later, call);
}

}  // namespace

int Checked<soft0_ibv_get_cq_event>::call(const char* name, ibv_comp_channel* channel, ibv_cq** cq,
                                          void** cq_context) {
    if (const int refused = check_endless(name, channel)) {
        errno = refused;
        return -1;
    }
    const int code = soft0_ibv_get_cq_event(channel, cq, cq_context);
    if (code == 0) count_taken(*cq, true, 1);
    return code;
}

void Checked<soft0_ibv_ack_cq_events>::call(const char*, ibv_cq* cq, unsigned count) {
    count_taken(cq, false, count);
    soft0_ibv_ack_cq_events(cq, count);
}

namespace {

/// Compares what a peer was refused here with the regions that peers may use. The event keeps the
/// queue pair until it is acknowledged.
void tell_refusal(ibv_qp& qp, const char* call) {
    ::verbs::QueuePairFailure failure{};
    if (!softverbs_failure_of(&qp, &failure) || !failure.asked_by_peer || failure.is_receive ||
        failure.is_window)
        return;
    const Segment asked{failure.address, failure.length, failure.key};
    Found found;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (!state.remote_regions.check(kProcess, asked, rights_of(failure.rights), zone_of(qp.pd),
                                        found))
            (found.end() - 1)->segment = Finding::kAskedSegment;
    });
    if (!found.empty()) refuse(found, call);
}

}  // namespace

int Checked<soft0_ibv_get_async_event>::call(const char* call, ibv_context* context,
                                             ibv_async_event* event) {
    const int code = soft0_ibv_get_async_event(context, event);
    if (code != 0) return code;
    count_taken(softverbs::object_of(*event).object, true, 1);
    if (event->event_type == IBV_EVENT_QP_ACCESS_ERR && policy().checks_for(kMemory))
        tell_refusal(*event->element.qp, call);
    return code;
}

void acknowledge(const ibv_async_event& event) {
    if (is_on()) count_taken(softverbs::object_of(event).object, false, 1);
}

}  // namespace check::verbs
