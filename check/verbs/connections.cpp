// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Objects that rdma_cm makes and frees for the program.
#include "check/verbs/context.hpp"
#include "check/verbs/objects.hpp"
#include "check/verbs/routed.hpp"

namespace check::verbs {
namespace {

constexpr int kMostReceiveSegments = 32;

/// Remembers the objects of an identifier. They are new, or were remembered when they were made.
void learn_all(const char* call, rdma_cm_id* id) {
    if (!id || !id->verbs) return;
    watch(call, id->verbs);
    for (ibv_comp_channel* channel : {id->send_cq_channel, id->recv_cq_channel})
        if (channel) learn(channel, Maker::kLibrary);
    for (ibv_cq* cq : {id->send_cq, id->recv_cq})
        if (cq) learn(cq, Maker::kLibrary);
    if (id->srq) learn(id->srq, kMostReceiveSegments, false, Maker::kLibrary);
    if (id->qp) learn(id->qp, Maker::kLibrary);
}

/// The objects of an identifier that may end with it.
struct Parts {
    explicit Parts(const rdma_cm_id* id)
        : endings{begin_end(id->qp),
                  begin_end(id->srq),
                  begin_end(id->send_cq),
                  begin_end(id->recv_cq),
                  begin_end(id->send_cq_channel),
                  begin_end(id->recv_cq_channel)} {}
    void end_where(bool ends_pair, bool ends_shared) const {
        for (const Ending& ending : endings) {
            const bool is_shared = &ending == &endings[1];
            if (ending.handle && (is_shared ? ends_shared : ends_pair)) end(ending);
        }
    }
    Ending endings[6];
};

}  // namespace

int Checked<soft0_rdma_create_ep>::call(const char* name, rdma_cm_id** id, rdma_addrinfo* address,
                                        ibv_pd* pd, ibv_qp_init_attr* attributes) {
    const int code = soft0_rdma_create_ep(id, address, pd, attributes);
    if (code == 0) learn_all(name, *id);
    return code;
}

int Checked<soft0_rdma_create_qp>::call(const char* name, rdma_cm_id* id, ibv_pd* pd,
                                        ibv_qp_init_attr* attributes) {
    const int code = soft0_rdma_create_qp(id, pd, attributes);
    if (code == 0) learn_all(name, id);
    return code;
}

int Checked<soft0_rdma_create_qp_ex>::call(const char* name, rdma_cm_id* id,
                                           ibv_qp_init_attr_ex* attributes) {
    const int code = soft0_rdma_create_qp_ex(id, attributes);
    if (code == 0) learn_all(name, id);
    return code;
}

int Checked<soft0_rdma_create_srq>::call(const char* name, rdma_cm_id* id, ibv_pd* pd,
                                         ibv_srq_init_attr* attributes) {
    const int code = soft0_rdma_create_srq(id, pd, attributes);
    if (code == 0) learn_all(name, id);
    return code;
}

int Checked<soft0_rdma_create_srq_ex>::call(const char* name, rdma_cm_id* id,
                                            ibv_srq_init_attr_ex* attributes) {
    const int code = soft0_rdma_create_srq_ex(id, attributes);
    if (code == 0) learn_all(name, id);
    return code;
}

int Checked<soft0_rdma_get_request>::call(const char* name, rdma_cm_id* listener, rdma_cm_id** id) {
    const int code = soft0_rdma_get_request(listener, id);
    if (code == 0) learn_all(name, *id);
    return code;
}

int Checked<soft0_rdma_get_cm_event>::call(const char*, rdma_event_channel* channel,
                                           rdma_cm_event** event) {
    const int code = soft0_rdma_get_cm_event(channel, event);
    if (code != 0 || !(*event)->id || !(*event)->id->qp) return code;
    if ((*event)->event == RDMA_CM_EVENT_ESTABLISHED) learn_peer((*event)->id->qp);
    if ((*event)->event == RDMA_CM_EVENT_DISCONNECTED) note_over((*event)->id->qp);
    return code;
}

int Checked<soft0_rdma_disconnect>::call(const char*, rdma_cm_id* id) {
    const int code = soft0_rdma_disconnect(id);
    if (code == 0 && id->qp) note_over(id->qp);
    return code;
}

void Checked<soft0_rdma_destroy_ep>::call(const char*, rdma_cm_id* id) {
    const Parts parts(id);
    soft0_rdma_destroy_ep(id);
    parts.end_where(true, true);
}

void Checked<soft0_rdma_destroy_qp>::call(const char*, rdma_cm_id* id) {
    const Parts parts(id);
    soft0_rdma_destroy_qp(id);
    parts.end_where(true, false);
}

void Checked<soft0_rdma_destroy_srq>::call(const char*, rdma_cm_id* id) {
    const Parts parts(id);
    soft0_rdma_destroy_srq(id);
    parts.end_where(false, true);
}

}  // namespace check::verbs
