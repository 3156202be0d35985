// SPDX-License-Identifier: BSD-2-Clause
#include "check/verbs/objects.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <thread>

#include "check/model/left_objects.hpp"
#include "check/verbs/routed.hpp"

namespace check::verbs {
namespace {

std::atomic<bool> has_other_device{false};

/// @return an object that was made by the call of the program that runs now.
Object made_now(const char* kind, const void* device, const void* parent, Maker maker) {
    Object object;
    object.kind = kind;
    object.owner = kProcess;
    object.device = device;
    object.parent = parent;
    object.goes_with_owner = maker == Maker::kLibrary;
    object.made = here();
    return object;
}

void add(const void* handle, const Object& object) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS { state.objects.add(handle, object); });
}

/// rdma_cm makes queues that the program has not seen.
void add_unseen_queue(Model& state, ibv_cq* cq) REQUIRES(state.mutex) {
    if (!cq || state.objects.find_live(cq)) return;
    Object object;
    object.kind = kCompletions;
    object.owner = kProcess;
    object.device = cq->context;
    object.goes_with_owner = true;
    object.length = static_cast<std::uint64_t>(cq->cqe);
    state.objects.add(cq, object);
}

void fill(Endpoint& endpoint, const ibv_qp& qp, const ibv_qp_init_attr& asked) {
    endpoint.zone = zone_of(qp.pd);
    endpoint.receive_queue = qp.recv_cq;
    endpoint.request_queue = qp.send_cq;
    endpoint.shared = qp.srq;
    endpoint.request_slots = asked.cap.max_send_wr;
    endpoint.most_request_segments = static_cast<int>(asked.cap.max_send_sge);
    endpoint.most_receive_segments = static_cast<int>(asked.cap.max_recv_sge);
    endpoint.may_be_full = true;
    endpoint.signals_all = asked.sq_sig_all != 0;
}

/// @return a number that stands for a queue pair of a port.
std::uint64_t name_of_end(unsigned lid, std::uint32_t number) {
    return lid == 0 ? 0 : (std::uint64_t{lid} << 32 | number);
}

/// @return an object that uses this one and must end first.
const Object* user_of(Model& state, const void* handle) REQUIRES(state.mutex) {
    const Object* user = nullptr;
    state.objects.for_each(kProcess, [&](const void* other, const Object& object) {
        if (!object.is_live || other == handle || user) return;
        const bool feeds = std::find(std::begin(object.feeds), std::end(object.feeds), handle) !=
                           std::end(object.feeds);
        if (feeds || object.parent == handle) user = &object;
    });
    return user;
}

/// Looks for an object of another context among those of a call.
void check_contexts(const ibv_context* context, std::initializer_list<const void*> handles,
                    Found& found) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        for (const void* handle : handles) {
            const Object* object = handle ? state.objects.find(handle) : nullptr;
            if (!object || (object->is_live && object->device == context)) continue;
            Finding& finding =
                found.add(object->is_live ? Kind::kOtherOwner : Kind::kUsedAfterFree);
            finding.what = object->kind;
            finding.made = object->made;
            finding.ended = object->ended;
            return;
        }
    });
}

/// @return 0, or the error with which the call must fail.
int check_parts(const char* call, const ibv_context* context,
                std::initializer_list<const void*> handles) {
    if (!policy().checks_for(kLife)) return 0;
    Found found;
    check_contexts(context, handles, found);
    return refuse(found, call);
}

/// The device waits for these without end, so another thread gets time to acknowledge.
int check_taken(const char* call, const void* handle) {
    if (!policy().checks_for(kQueues)) return 0;
    constexpr int kTries = 100;
    constexpr std::chrono::milliseconds kPause{10};
    Found found;
    for (int tries = 0; tries < kTries; ++tries) {
        std::uint64_t taken = 0;
        with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
            const Object* object = state.objects.find_live(handle);
            taken = object ? object->taken : 0;
            if (taken == 0 || tries + 1 != kTries) return;
            Finding& finding = found.add(Kind::kUnacknowledged);
            finding.what = object->kind;
            finding.made = object->made;
            finding.number = taken;
        });
        if (taken == 0) return 0;
        std::this_thread::sleep_for(kPause);
    }
    return refuse(found, call);
}

template <class Destroy>
int ended_after_events(const char* call, const void* handle, const Destroy& destroy) {
    const int refused = check_taken(call, handle);
    return refused != 0 ? refused : ended_by(call, handle, destroy);
}

}  // namespace

void see_other_device() {
    has_other_device = true;
}

bool tell_gone(const char* call, const void* handle, std::string_view kind) {
    Found found;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* object = state.objects.find(handle);
        if (!object || object->is_live || object->kind != kind) return;
        Finding& finding = found.add(Kind::kUsedAfterFree);
        finding.what = object->kind;
        finding.made = object->made;
        finding.ended = object->ended;
    });
    refuse(found, call);
    return !found.empty();
}

namespace {

bool is_gone(const char* call, const void* handle, std::string_view kind) {
    return policy().checks_for(kLife) && !has_other_device && tell_gone(call, handle, kind);
}

}  // namespace

bool is_gone(const char* call, const ibv_mr* mr) {
    return is_gone(call, mr, kRegion);
}
bool is_gone(const char* call, const ibv_ah* ah) {
    return is_gone(call, ah, kAddress);
}
bool is_gone(const char* call, const ibv_cq* cq) {
    return is_gone(call, cq, kCompletions);
}
bool is_gone(const char* call, const ibv_qp* qp) {
    return is_gone(call, qp, kPair);
}
bool is_gone(const char* call, const ibv_srq* srq) {
    return is_gone(call, srq, kShared);
}
bool is_gone(const char* call, const ibv_comp_channel* channel) {
    return is_gone(call, channel, kChannel);
}

void learn(ibv_comp_channel* channel, Maker maker) {
    add(channel, made_now(kChannel, channel->context, channel->context, maker));
}

void learn(ibv_pd* pd, Maker maker) {
    add(pd, made_now(kDomain, pd->context, pd->context, maker));
}

void learn(ibv_ah* ah, Maker maker) {
    add(ah, made_now(kAddress, ah->context, ah->pd, maker));
}

void learn(ibv_cq* cq, Maker maker) {
    Object object = made_now(kCompletions, cq->context, cq->context, maker);
    object.length = static_cast<std::uint64_t>(cq->cqe);
    object.feeds[0] = cq->channel;
    add(cq, object);
}

void learn(ibv_qp* qp, Maker maker) {
    ibv_qp_attr ignored{};
    ibv_qp_init_attr asked{};
    if (soft0_ibv_query_qp(qp, &ignored, IBV_QP_CAP, &asked) != 0) return;
    Object object = made_now(kPair, qp->context, qp->pd, maker);
    object.feeds[0] = qp->recv_cq;
    object.feeds[1] = qp->send_cq;
    object.feeds[2] = qp->srq;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        add_unseen_queue(state, qp->recv_cq);
        add_unseen_queue(state, qp->send_cq);
        if (Object* before = state.objects.find_live(qp); before && before->endpoint)
            state.end_transfers(*before);
        Object& added = state.objects.add(qp, object);
        fill(state.objects.add_endpoint(added), *qp, asked);
        state.objects.number(qp->qp_num, qp);
    });
}

void learn(ibv_srq* srq, int most_segments, bool is_followed, Maker maker) {
    const Object object = made_now(kShared, srq->context, srq->pd, maker);
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (maker == Maker::kLibrary && state.objects.find_live(srq)) return;
        if (Object* before = state.objects.find_live(srq)) state.end_transfers(*before);
        Endpoint& endpoint = state.objects.add_endpoint(state.objects.add(srq, object));
        endpoint.zone = zone_of(srq->pd);
        endpoint.most_receive_segments = most_segments;
        endpoint.is_followed = is_followed;
    });
}

void learn_peer(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr ignored{};
    ibv_port_attr port{};
    const bool is_known =
        soft0_ibv_query_qp(qp, &attributes, IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_PORT, &ignored) ==
            0 &&
        ibv_query_port(qp->context, attributes.port_num, &port) == 0;
    with_endpoint(qp, [&](Model& state, Object& object) NO_THREAD_SAFETY_ANALYSIS {
        Endpoint& endpoint = *object.endpoint;
        endpoint.knows_peer = true;
        if (!is_known || qp->qp_type == IBV_QPT_UD) return;
        endpoint.local_name = name_of_end(port.lid, qp->qp_num);
        endpoint.remote_name = name_of_end(attributes.ah_attr.dlid, attributes.dest_qp_num);
        state.find_peer(qp, object);
    });
}

Ending begin_end(const void* handle) {
    Ending ending{handle, {}, here()};
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (const Object* object = state.objects.find_live(handle)) ending.made = object->made;
    });
    return ending;
}

void end(const Ending& ending) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(ending.handle);
        if (!object || object->made.time != ending.made.time) return;
        if (object->endpoint) state.end_transfers(*object);
        state.objects.end(*object, ending.now);
    });
}

void tell_in_use(const char* call, const void* handle) {
    if (!policy().checks_for(kLife)) return;
    Found found;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* object = state.objects.find_live(handle);
        const Object* user = object ? user_of(state, handle) : nullptr;
        if (!user) return;
        Finding& finding = found.add(Kind::kInUse);
        finding.what = object->kind;
        finding.made = object->made;
        finding.other_what = user->kind;
        finding.other = user->made;
    });
    refuse(found, call);
}

void check_left(const char* call, const void* context) {
    LeftObjects left;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        state.objects.for_each(kProcess, [&](const void*, const Object& object) {
            if (!object.is_live || object.goes_with_owner) return;
            if (!context || object.device == context) left.add(object);
        });
    });
    left.for_each([=](Found& found) { refuse(found, call); });
}

ibv_comp_channel* Checked<soft0_ibv_create_comp_channel>::call(const char*, ibv_context* context) {
    ibv_comp_channel* channel = soft0_ibv_create_comp_channel(context);
    if (channel) learn(channel);
    return channel;
}

ibv_pd* Checked<soft0_ibv_alloc_pd>::call(const char*, ibv_context* context) {
    ibv_pd* pd = soft0_ibv_alloc_pd(context);
    if (pd) learn(pd);
    return pd;
}

ibv_ah* Checked<soft0_ibv_create_ah>::call(const char*, ibv_pd* pd, ibv_ah_attr* attributes) {
    ibv_ah* ah = soft0_ibv_create_ah(pd, attributes);
    if (ah) learn(ah);
    return ah;
}

ibv_ah* Checked<soft0_ibv_create_ah_from_wc>::call(const char*, ibv_pd* pd, ibv_wc* wc,
                                                   ibv_grh* grh, uint8_t port) {
    ibv_ah* ah = soft0_ibv_create_ah_from_wc(pd, wc, grh, port);
    if (ah) learn(ah);
    return ah;
}

ibv_cq* Checked<soft0_ibv_create_cq>::call(const char* name, ibv_context* context, int entries,
                                           void* cq_context, ibv_comp_channel* channel,
                                           int vector) {
    if (const int refused = check_parts(name, context, {channel})) {
        errno = refused;
        return nullptr;
    }
    ibv_cq* cq = soft0_ibv_create_cq(context, entries, cq_context, channel, vector);
    if (cq) learn(cq);
    return cq;
}

ibv_qp* Checked<soft0_ibv_create_qp>::call(const char* name, ibv_pd* pd,
                                           ibv_qp_init_attr* attributes) {
    const int refused =
        check_parts(name, pd->context, {attributes->send_cq, attributes->recv_cq, attributes->srq});
    if (refused != 0) {
        errno = refused;
        return nullptr;
    }
    ibv_qp* qp = soft0_ibv_create_qp(pd, attributes);
    if (qp) learn(qp);
    return qp;
}

ibv_srq* Checked<soft0_ibv_create_srq>::call(const char*, ibv_pd* pd,
                                             ibv_srq_init_attr* attributes) {
    ibv_srq* srq = soft0_ibv_create_srq(pd, attributes);
    if (srq) learn(srq, static_cast<int>(attributes->attr.max_sge), true);
    return srq;
}

int Checked<soft0_ibv_resize_cq>::call(const char*, ibv_cq* cq, int entries) {
    const int code = soft0_ibv_resize_cq(cq, entries);
    if (code != 0) return code;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (Object* object = state.objects.find_live(cq))
            object->length = static_cast<std::uint64_t>(cq->cqe);
    });
    return code;
}

/// RESET drops what is posted; in ERR everything is flushed.
int Checked<soft0_ibv_modify_qp>::call(const char*, ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
    const int code = soft0_ibv_modify_qp(qp, attributes, mask);
    if (code != 0 || !(mask & IBV_QP_STATE)) return code;
    if (attributes->qp_state == IBV_QPS_RTR) learn_peer(qp);
    with_endpoint(qp, [=](Model& state, Object& object) NO_THREAD_SAFETY_ANALYSIS {
        Endpoint& endpoint = *object.endpoint;
        endpoint.is_over = attributes->qp_state == IBV_QPS_ERR;
        if (attributes->qp_state != IBV_QPS_RESET) return;
        state.end_transfers(object);
        endpoint.knows_peer = false;
        endpoint.peer = nullptr;
    });
    return code;
}

int Checked<soft0_ibv_destroy_comp_channel>::call(const char* name, ibv_comp_channel* channel) {
    return ended_by(name, channel, [=] { return soft0_ibv_destroy_comp_channel(channel); });
}

int Checked<soft0_ibv_dealloc_pd>::call(const char* name, ibv_pd* pd) {
    return ended_by(name, pd, [=] { return soft0_ibv_dealloc_pd(pd); });
}

int Checked<soft0_ibv_destroy_ah>::call(const char* name, ibv_ah* ah) {
    return ended_by(name, ah, [=] { return soft0_ibv_destroy_ah(ah); });
}

int Checked<soft0_ibv_destroy_cq>::call(const char* name, ibv_cq* cq) {
    return ended_after_events(name, cq, [=] { return soft0_ibv_destroy_cq(cq); });
}

int Checked<soft0_ibv_destroy_qp>::call(const char* name, ibv_qp* qp) {
    return ended_after_events(name, qp, [=] { return soft0_ibv_destroy_qp(qp); });
}

int Checked<soft0_ibv_destroy_srq>::call(const char* name, ibv_srq* srq) {
    return ended_after_events(name, srq, [=] { return soft0_ibv_destroy_srq(srq); });
}

/// Reports once what is left of the context.
int Checked<soft0_ibv_close_device>::call(const char* name, ibv_context* context) {
    if (policy().checks_for(kLife)) check_left(name, context);
    const Origin now = here();
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        state.objects.for_each(kProcess,
                               [&](const void*, Object& object) NO_THREAD_SAFETY_ANALYSIS {
                                   if (object.device != context || !object.is_live) return;
                                   if (object.kind == kRegion)
                                       state.regions.end(kProcess, object.key, nullptr, now);
                                   if (object.endpoint) state.end_transfers(object);
                                   state.objects.end(object, now);
                               });
    });
    return soft0_ibv_close_device(context);
}

}  // namespace check::verbs
