// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Returns from main() with the device open and a thread waiting on it. With an argument, the
/// destructor of a static object then destroys the queue pair.
#include <infiniband/verbs.h>

#include <cstdio>
#include <thread>

namespace {

struct AtTheEnd {
    ibv_qp* qp = nullptr;
    ~AtTheEnd() {
        if (qp) std::printf("destroyed: %d\n", ibv_destroy_qp(qp));
    }
} at_the_end;

char memory[4096];

}  // namespace

int main(int count, char**) {
    ibv_device** devices = ibv_get_device_list(nullptr);
    ibv_context* context = devices ? ibv_open_device(devices[0]) : nullptr;
    if (!context) return 1;
    ibv_pd* pd = ibv_alloc_pd(context);
    ibv_cq* cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
    ibv_mr* mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {16, 16, 1, 1, 0};
    ibv_qp* qp = ibv_create_qp(pd, &attributes);
    if (!mr || !qp) return 1;
    if (count > 1) at_the_end.qp = qp;
    std::thread([context] {
        ibv_async_event event;
        ibv_get_async_event(context, &event);
    }).detach();
    std::puts("open");
    return 0;
}
