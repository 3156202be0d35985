// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names to addresses, and the list of devices.
#include <netdb.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "providers/soft/cm/engine.hpp"

namespace softverbs {
namespace {

sockaddr* copy_of(const sockaddr* address, socklen_t length) {
    auto* copy = static_cast<sockaddr*>(std::calloc(1, sizeof(sockaddr_storage)));
    if (copy) std::memcpy(copy, address, std::min<std::size_t>(length, sizeof(sockaddr_storage)));
    return copy;
}

/// @return a getaddrinfo() code.
int look_up(const char* node, const char* service, const rdma_addrinfo* hints, addrinfo** found) {
    addrinfo wish = {};
    wish.ai_socktype = SOCK_STREAM;
    if (hints) {
        wish.ai_flags = (hints->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
                        (hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
        wish.ai_family =
            hints->ai_flags & RAI_FAMILY || hints->ai_family ? hints->ai_family : AF_UNSPEC;
    }
    // Without a name only the passive side has an address: any. IPv4 first, as the device's own is.
    if (!node && wish.ai_family == AF_UNSPEC) wish.ai_family = AF_INET;
    return getaddrinfo(node, service, &wish, found);
}

rdma_addrinfo* convert(const addrinfo& found, const rdma_addrinfo* hints) {
    auto* result = static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo)));
    if (!result) return nullptr;
    result->ai_flags = hints ? hints->ai_flags : 0;
    result->ai_family = found.ai_family;
    result->ai_qp_type = hints && hints->ai_qp_type ? hints->ai_qp_type : IBV_QPT_RC;
    result->ai_port_space = hints && hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
    if (result->ai_flags & RAI_PASSIVE) {
        result->ai_src_addr = copy_of(found.ai_addr, found.ai_addrlen);
        result->ai_src_len = found.ai_addrlen;
        return result;
    }
    result->ai_dst_addr = copy_of(found.ai_addr, found.ai_addrlen);
    result->ai_dst_len = found.ai_addrlen;
    if (hints && hints->ai_src_addr && hints->ai_src_len > 0) {
        result->ai_src_addr = copy_of(hints->ai_src_addr, hints->ai_src_len);
        result->ai_src_len = hints->ai_src_len;
    }
    return result;
}

/// Applications use the contexts of a list after they have freed it: the device stays open until
/// the library is unloaded. Made at the first use, so that what the device needs is destroyed after
/// it.
struct DeviceHolder {
    pid_t pid = getpid();
    ~DeviceHolder() {
        if (pid == getpid()) Engine::release();
    }
};

int list_devices(ibv_context*** list) {
    auto* made = static_cast<ibv_context**>(std::calloc(2, sizeof(ibv_context*)));
    if (!made) return ENOMEM;
    const auto engine = Engine::acquire();
    if (!engine) {
        std::free(made);
        return engine.error();
    }
    static std::atomic<pid_t> holding{0};
    static DeviceHolder holder;
    // One reference is enough. In a child after fork it stays until the end.
    if (holding.exchange(getpid()) == getpid()) Engine::release();
    made[0] = (*engine)->verbs();
    *list = made;
    return 0;
}

}  // namespace
}  // namespace softverbs

using softverbs::CancellationDisabled;
using softverbs::guarded;

extern "C" {

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                     rdma_addrinfo** result) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        if (!result || (!node && !service)) return EINVAL;
        addrinfo* found = nullptr;
        switch (softverbs::look_up(node, service, hints, &found)) {
            case 0:
                break;
            case EAI_MEMORY:
                return ENOMEM;
            case EAI_SYSTEM:
                return errno;
            default:
                return ENODATA;
        }
        *result = softverbs::convert(*found, hints);
        freeaddrinfo(found);
        return *result ? 0 : ENOMEM;
    });
}

void rdma_freeaddrinfo(rdma_addrinfo* result) {
    while (result) {
        rdma_addrinfo* const next = result->ai_next;
        std::free(result->ai_src_addr);
        std::free(result->ai_dst_addr);
        std::free(result);
        result = next;
    }
}

ibv_context** rdma_get_devices(int* count) {
    ibv_context** list = nullptr;
    if (count) *count = 0;
    const int result = guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::list_devices(&list);
    });
    if (result == 0 && count) *count = 1;
    return list;
}

void rdma_free_devices(ibv_context** list) {
    std::free(list);
}

}  // extern "C"
