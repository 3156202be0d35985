// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Uses every device that verbs lists, side by side, and prints what it found. It is linked as any
/// verbs program; the tests choose the libraries that serve it.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

struct Opened {
    ibv_context* context;
    ibv_pd* pd;
    ibv_comp_channel* channel;
    ibv_cq* cq;
    ibv_mr* mr;
};

char memory[4096];
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;

Opened open(ibv_device* device) {
    Opened made{};
    made.context = ibv_open_device(device);
    if (!made.context) return made;
    made.pd = ibv_alloc_pd(made.context);
    made.channel = ibv_create_comp_channel(made.context);
    made.cq = ibv_create_cq(made.context, 4, nullptr, made.channel, 0);
    made.mr = ibv_reg_mr(made.pd, memory, sizeof memory, kAccess);
    return made;
}

bool is_whole(const Opened& made) {
    return made.context && made.pd && made.channel && made.cq && made.mr;
}

void close(const Opened& made) {
    const int deregistered = ibv_dereg_mr(made.mr);
    const int cq = ibv_destroy_cq(made.cq);
    const int channel = ibv_destroy_comp_channel(made.channel);
    const int pd = ibv_dealloc_pd(made.pd);
    std::printf("closed: %d %d %d %d %d\n", deregistered, cq, channel, pd,
                ibv_close_device(made.context));
}

void tell_cm() {
    rdma_event_channel* channel = rdma_create_event_channel();
    std::printf("event channel: %s\n", !channel            ? "none"
                                       : channel->fd == 77 ? "the system's"
                                                           : "soft0's");
    if (channel) rdma_destroy_event_channel(channel);
}

}  // namespace

int main() {
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    if (!devices) return 1;
    std::vector<Opened> opened;
    for (int i = 0; i < count; ++i) {
        ibv_device_attr attributes;
        opened.push_back(open(devices[i]));
        if (!is_whole(opened.back()) || ibv_query_device(opened.back().context, &attributes) != 0)
            return 1;
        std::printf("%s: max_qp %s\n", ibv_get_device_name(devices[i]),
                    attributes.max_qp == 11 ? "11" : "another");
    }
    if (devices[count]) return 1;
    ibv_async_event event{};
    event.event_type = IBV_EVENT_CQ_ERR;
    event.element.cq = opened.front().cq;
    if (count > 1) ibv_ack_async_event(&event);
    ibv_free_device_list(devices);
    for (const Opened& one : opened) close(one);
    std::printf("fork: %d\n", ibv_fork_init());
    tell_cm();
    return 0;
}
