// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Resolution of names to addresses, and the list of devices.
#include <netdb.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "providers/soft/softverbs/cm/engine.hpp"

namespace softverbs {
namespace {

sockaddr* copy_of(const sockaddr* address, socklen_t length) {
    auto* copy = static_cast<sockaddr_storage*>(std::calloc(1, sizeof(sockaddr_storage)));
    if (copy) std::memcpy(copy, address, std::min<std::size_t>(length, sizeof *copy));
    return reinterpret_cast<sockaddr*>(copy);
}

/// If the caller names only the QP type or only the port space, each follows from the other.
int queue_pair_type(const rdma_addrinfo* hints) {
    if (hints && hints->ai_qp_type) return hints->ai_qp_type;
    const int port_space = hints ? hints->ai_port_space : 0;
    return port_space == RDMA_PS_UDP || port_space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
}

int port_space(const rdma_addrinfo* hints) {
    if (hints && hints->ai_port_space) return hints->ai_port_space;
    return queue_pair_type(hints) == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

/// @return a getaddrinfo() code.
int look_up(const char* node, const char* service, const rdma_addrinfo* hints, addrinfo** found) {
    addrinfo wish = {};
    wish.ai_socktype = queue_pair_type(hints) == IBV_QPT_UD ? SOCK_DGRAM : SOCK_STREAM;
    if (hints) {
        wish.ai_flags = (hints->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
                        (hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
        wish.ai_family = hints->ai_family;
    }
    // Without a node the address is "any" or loopback. IPv4 is preferred, as the device's own
    // address is IPv4 by default.
    if (!node && wish.ai_family == AF_UNSPEC) wish.ai_family = AF_INET;
    return getaddrinfo(node, service, &wish, found);
}

bool set_address(sockaddr*& to, socklen_t& to_length, const sockaddr* from, socklen_t length) {
    to = copy_of(from, length);
    to_length = length;
    return to != nullptr;
}

/// @param found nullptr if only the hints have addresses. @return 0 or ENOMEM; the caller frees
/// what is filled in by then.
int fill(rdma_addrinfo& result, const addrinfo* found, const rdma_addrinfo* hints) {
    result.ai_flags = hints ? hints->ai_flags : 0;
    if (found)
        result.ai_family = found->ai_family;
    else if (hints)
        result.ai_family = hints->ai_family;
    result.ai_qp_type = queue_pair_type(hints);
    result.ai_port_space = port_space(hints);
    const bool passive = (result.ai_flags & RAI_PASSIVE) != 0;
    if (found) {
        sockaddr*& address = passive ? result.ai_src_addr : result.ai_dst_addr;
        socklen_t& length = passive ? result.ai_src_len : result.ai_dst_len;
        if (!set_address(address, length, found->ai_addr, found->ai_addrlen)) return ENOMEM;
    }
    if (!hints) return 0;
    const bool copies_source = !result.ai_src_addr && hints->ai_src_addr && hints->ai_src_len > 0;
    if (copies_source &&
        !set_address(result.ai_src_addr, result.ai_src_len, hints->ai_src_addr, hints->ai_src_len))
        return ENOMEM;
    const bool copies_destination = !found && hints->ai_dst_addr && hints->ai_dst_len > 0;
    if (copies_destination &&
        !set_address(result.ai_dst_addr, result.ai_dst_len, hints->ai_dst_addr, hints->ai_dst_len))
        return ENOMEM;
    return 0;
}

int resolve(const char* node, const char* service, const rdma_addrinfo* hints,
            rdma_addrinfo** result) {
    addrinfo* found = nullptr;
    if (node || service) {
        switch (look_up(node, service, hints, &found)) {
            case 0:
                break;
            case EAI_MEMORY:
                return ENOMEM;
            case EAI_SYSTEM:
                return errno;
            default:
                return ENODATA;
        }
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found_owner(found, freeaddrinfo);
    std::unique_ptr<rdma_addrinfo, decltype(&rdma_freeaddrinfo)> made(
        static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo))), rdma_freeaddrinfo);
    const int error = made ? fill(*made, found, hints) : ENOMEM;
    if (error == 0) *result = made.release();
    return error;
}

/// Keeps the device open until the library is unloaded, since applications use the contexts of a
/// list after they have freed it. Made at the first use, so that it is destroyed before what the
/// device needs.
struct DeviceHolder {
    pid_t pid = getpid();
    ~DeviceHolder() {
        if (pid == getpid()) Engine::release();
    }
};

int list_devices(ibv_context*** list) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers
    auto* made = static_cast<ibv_context**>(std::calloc(device_count() + 1, sizeof(ibv_context*)));
    if (!made) return ENOMEM;
    const auto engine = Engine::acquire();
    if (!engine) {
        std::free(made);
        return engine.error();
    }
    static std::atomic<pid_t> holding{0};
    static DeviceHolder holder;
    // One reference is enough. In a child after fork it is held until the process ends.
    if (holding.exchange(getpid()) == getpid()) Engine::release();
    for (unsigned device = 0; device < device_count(); ++device)
        made[device] = (*engine)->verbs(device);
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
        if (!result || (!node && !service && !hints)) return EINVAL;
        return softverbs::resolve(node, service, hints, result);
    });
}

/// Frees fields that the device leaves empty too, as rdma-core does: the program may have put
/// memory of its own there.
void rdma_freeaddrinfo(rdma_addrinfo* result) {
    while (result) {
        rdma_addrinfo* const next = result->ai_next;
        std::free(result->ai_src_addr);
        std::free(result->ai_dst_addr);
        std::free(result->ai_src_canonname);
        std::free(result->ai_dst_canonname);
        std::free(result->ai_route);
        std::free(result->ai_connect);
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
    if (result == 0 && count) *count = static_cast<int>(softverbs::device_count());
    return list;
}

void rdma_free_devices(ibv_context** list) {
    std::free(list);
}

}  // extern "C"
