// SPDX-License-Identifier: BSD-2-Clause
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "test/compat/fake_system.hpp"

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

namespace {

ibv_device fake_device() {
    ibv_device made{};
    made.node_type = IBV_NODE_CA;
    made.transport_type = IBV_TRANSPORT_IB;
    std::strcpy(made.name, "fake0");
    std::strcpy(made.dev_name, "uverbs0");
    return made;
}

ibv_device device = fake_device();
ibv_context context;
ibv_pd pd;
ibv_mr mr;
ibv_cq cq;
ibv_comp_channel channel;

}  // namespace

FAKE ibv_device** ibv_get_device_list(int* count) {
    note_call("ibv_get_device_list");
    auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
    list[0] = &device;
    if (count) *count = 1;
    return list;
}

FAKE void ibv_free_device_list(ibv_device** list) {
    note_call("ibv_free_device_list");
    std::free(list);
}

FAKE const char* ibv_get_device_name(ibv_device* of) {
    note_call("ibv_get_device_name");
    return of->name;
}

FAKE __be64 ibv_get_device_guid(ibv_device*) {
    note_call("ibv_get_device_guid");
    return 0x1122334455667788;
}

FAKE ibv_context* ibv_open_device(ibv_device* of) {
    note_call("ibv_open_device");
    if (std::getenv("FAKE_DEVICE_FAILS")) {
        errno = EIO;
        return nullptr;
    }
    context.device = of;
    return &context;
}

FAKE int ibv_close_device(ibv_context*) {
    note_call("ibv_close_device");
    return 0;
}

FAKE int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
    note_call("ibv_query_device");
    *attributes = {};
    attributes->max_qp = 11;
    return 0;
}

FAKE int ibv_query_port(ibv_context*, uint8_t, _compat_ibv_port_attr*) {
    note_call("ibv_query_port");
    return 0;
}

FAKE ibv_pd* ibv_alloc_pd(ibv_context* of) {
    note_call("ibv_alloc_pd");
    pd.context = of;
    return &pd;
}

FAKE int ibv_dealloc_pd(ibv_pd*) {
    note_call("ibv_dealloc_pd");
    return EBUSY;  // an error, which must reach the caller unchanged
}

FAKE ibv_mr* ibv_reg_mr(ibv_pd* of, void* address, size_t length, int) {
    note_call("ibv_reg_mr");
    mr.context = of->context;
    mr.pd = of;
    mr.addr = address;
    mr.length = length;
    return &mr;
}

FAKE int ibv_dereg_mr(ibv_mr*) {
    note_call("ibv_dereg_mr");
    return 0;
}

FAKE ibv_comp_channel* ibv_create_comp_channel(ibv_context* of) {
    note_call("ibv_create_comp_channel");
    channel.context = of;
    return &channel;
}

FAKE int ibv_destroy_comp_channel(ibv_comp_channel*) {
    note_call("ibv_destroy_comp_channel");
    return 0;
}

FAKE ibv_cq* ibv_create_cq(ibv_context* of, int, void*, ibv_comp_channel*, int) {
    note_call("ibv_create_cq");
    cq.context = of;
    return &cq;
}

FAKE int ibv_destroy_cq(ibv_cq*) {
    note_call("ibv_destroy_cq");
    return 0;
}

FAKE void ibv_ack_async_event(ibv_async_event*) {
    note_call("ibv_ack_async_event");
}

FAKE int ibv_fork_init() {
    note_call("ibv_fork_init");
    return EINVAL;
}
