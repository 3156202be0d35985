// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Treats the lists of libibverbs and librdmacm as programs do that know the internals of
/// rdma-core: frees them with free(), reorders them first, uses their entries after that, and
/// replaces parts of them with memory of its own.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void check(bool holds, const char* what) {
    if (holds) return;
    std::printf("not so: %s\n", what);
    std::exit(1);
}

bool opens(ibv_device* device) {
    ibv_context* context = ibv_open_device(device);
    return context && ibv_close_device(context) == 0;
}

ibv_device* last_of(ibv_device** list, int count) {
    check(list && count > 0 && !list[count], "a list is as long as its count");
    return list[count - 1];
}

void free_device_lists() {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ibv_device* last = last_of(list, count);
    std::free(list);
    check(opens(last), "a device opens after free() of its list");
    list = ibv_get_device_list(nullptr);
    list = static_cast<ibv_device**>(std::realloc(list, 64 * sizeof *list));
    std::reverse(list, list + count);
    check(list[0] == last, "a device has one address");
    ibv_free_device_list(list);
    check(opens(last), "a device opens after its list in another order was freed");
}

void free_context_lists() {
    int count = 0;
    ibv_context** list = rdma_get_devices(&count);
    check(list && count == 1 && !list[1], "rdma_cm has one device");
    ibv_context* context = list[0];
    std::free(list);
    ibv_device_attr attributes;
    check(ibv_query_device(context, &attributes) == 0, "a context works after free() of its list");
}

/// Programs replace the fields that they want to change.
void free_addresses() {
    rdma_addrinfo* found = nullptr;
    check(rdma_getaddrinfo("127.0.0.1", "5000", nullptr, &found) == 0, "an address is found");
    auto* copy = static_cast<sockaddr*>(std::malloc(found->ai_dst_len));
    std::memcpy(copy, found->ai_dst_addr, found->ai_dst_len);
    std::free(found->ai_dst_addr);
    found->ai_dst_addr = copy;
    found->ai_dst_canonname = strdup("there");
    found->ai_route = std::malloc(8);
    found->ai_route_len = 8;
    found->ai_connect = std::malloc(8);
    found->ai_connect_len = 8;
    rdma_freeaddrinfo(found);
}

}  // namespace

int main() {
    free_device_lists();
    free_context_lists();
    free_addresses();
    std::puts("every list was freed");
    return 0;
}
