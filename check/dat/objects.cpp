// SPDX-License-Identifier: BSD-2-Clause
#include "check/dat/objects.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string_view>

#include "check/dat/entry.hpp"

namespace check::dat {
namespace {

void set_feeds(Model& state, Object& object, std::initializer_list<const void*> handles)
    REQUIRES(state.mutex) {
    const void** next = object.feeds;
    for (const void* handle : handles) {
        const Object* queue = handle ? state.objects.find_live(handle) : nullptr;
        const bool is_queue = queue && std::string_view(queue->kind) == kQueue;
        if (is_queue && next != std::end(object.feeds)) *next++ = handle;
    }
}

/// @return an endpoint that a service point has made; nullptr if it is of no known IA.
Object* add_unseen(Model& state, DAT_EP_HANDLE ep, const DAT_EP_PARAM& param)
    REQUIRES(state.mutex) {
    for (const void* part : {param.pz_handle, param.recv_evd_handle, param.connect_evd_handle}) {
        const Object* known = part ? state.objects.find_live(part) : nullptr;
        if (!known) continue;
        Object object;
        object.kind = kEndpoint;
        object.owner = known->owner;
        object.goes_with_owner = true;
        return &state.objects.add(ep, object);
    }
    return nullptr;
}

}  // namespace

void made(const char* kind, const void* handle, std::initializer_list<const void*> arguments) {
    Object object;
    object.kind = kind;
    object.made = here();
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* parent = state.objects.find_live(*arguments.begin());
        object.owner = parent ? parent->owner : nullptr;
        set_feeds(state, object, arguments);
        state.objects.add(handle, object);
    });
    if (std::string_view(kind) == kWindow) note_sharing(handle);
}

void note_sharing(const void* object) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* known = state.objects.find_live(object);
        Object* adapter = known ? state.objects.find_live(known->owner) : nullptr;
        if (adapter) adapter->shares_memory = true;
    });
}

void ended(const Checked& checked, DAT_HANDLE handle) {
    const Origin origin = here();
    bool is_known = false;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(handle);
        if (!object) return;
        is_known = true;
        if (object->endpoint) state.end_transfers(*object);
        state.objects.end(*object, origin);
    });
    if (is_known) keep_table(checked, handle);
}

void keep_table(const Checked& checked, DAT_HANDLE handle) {
    std::atomic_ref(DAT_HANDLE_TO_PROVIDER(handle))
        .store(const_cast<DAT_PROVIDER*>(checked.outer), std::memory_order_relaxed);
}

void learn_endpoint(const Checked& checked, DAT_EP_HANDLE ep) {
    DAT_EP_PARAM param{};
    if (checked.inner.ep_query_func(ep, DAT_EP_FIELD_ALL, &param) != kSuccess) return;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(ep);
        if (!object) object = add_unseen(state, ep, param);
        if (!object) return;
        Endpoint& endpoint =
            object->endpoint ? *object->endpoint : state.objects.add_endpoint(*object);
        endpoint.zone = param.pz_handle;
        endpoint.receive_queue = param.recv_evd_handle;
        endpoint.request_queue = param.request_evd_handle;
        endpoint.shared = param.srq_handle;
        endpoint.is_datagram = param.ep_attr.service_type != DAT_SERVICE_TYPE_RC;
        endpoint.request_slots = static_cast<std::uint64_t>(param.ep_attr.max_request_dtos);
        endpoint.most_receive_segments = param.ep_attr.max_recv_iov;
        endpoint.most_request_segments =
            std::max({param.ep_attr.max_request_iov, param.ep_attr.max_rdma_read_iov,
                      param.ep_attr.max_rdma_write_iov});
        object->feeds[0] = param.recv_evd_handle;
        object->feeds[1] = param.request_evd_handle;
        object->feeds[2] = param.connect_evd_handle;
    });
}

namespace {

/// @return a number that stands for an address with a port; 0 if there is none.
std::uint64_t name_of_end(const sockaddr* address, DAT_PORT_QUAL port) {
    if (!address || port == 0) return 0;
    const auto* bytes = reinterpret_cast<const char*>(address);
    std::string_view host;
    if (address->sa_family == AF_INET)
        host = {bytes + offsetof(sockaddr_in, sin_addr), sizeof(in_addr)};
    else if (address->sa_family == AF_INET6)
        host = {bytes + offsetof(sockaddr_in6, sin6_addr), sizeof(in6_addr)};
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    return (std::hash<std::string_view>()(host) ^ port * kOdd) | 1;
}

}  // namespace

void learn_peer(const Checked& checked, DAT_EP_HANDLE ep) {
    ensure_known(checked, ep);
    DAT_EP_PARAM param{};
    if (checked.inner.ep_query_func(ep, DAT_EP_FIELD_ALL, &param) != kSuccess) return;
    with_endpoint(ep, [&](Model& state, Object& object) NO_THREAD_SAFETY_ANALYSIS {
        Endpoint& endpoint = *object.endpoint;
        endpoint.is_over = false;
        endpoint.local_name = name_of_end(param.local_ia_address_ptr, param.local_port_qual);
        endpoint.remote_name = name_of_end(param.remote_ia_address_ptr, param.remote_port_qual);
        state.find_peer(ep, object);
    });
}

void ensure_known(const Checked& checked, DAT_HANDLE poster) {
    bool is_known = false;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* object = state.objects.find(poster);
        is_known = object && (!object->is_live || object->endpoint);
    });
    if (!is_known) learn_endpoint(checked, poster);
}

namespace entry {

DAT_RETURN evd_create(DAT_IA_HANDLE ia, DAT_COUNT length, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
                      DAT_EVD_HANDLE* evd) {
    const DAT_RETURN code =
        Making<&DAT_PROVIDER::evd_create_func, Text("dat_evd_create"), Text("the EVD")>::call(
            ia, length, cno, flags, evd);
    if (code != kSuccess) return code;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(*evd);
        if (!object) return;
        object->length = static_cast<std::uint64_t>(length);
        object->feeds_itself = (flags & (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_ASYNC_FLAG)) != 0;
    });
    return code;
}

DAT_RETURN evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT length) {
    const DAT_RETURN code =
        Call<&DAT_PROVIDER::evd_resize_func, Text("dat_evd_resize")>::call(evd, length);
    if (code != kSuccess) return code;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (Object* object = state.objects.find_live(evd))
            object->length = static_cast<std::uint64_t>(length);
    });
    return code;
}

DAT_RETURN ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM* param) {
    const DAT_RETURN code =
        Call<&DAT_PROVIDER::ep_modify_func, Text("dat_ep_modify")>::call(ep, mask, param);
    if (code == kSuccess) learn_endpoint(checked_of(ep), ep);
    return code;
}

DAT_RETURN ep_reset(DAT_EP_HANDLE ep) {
    const DAT_RETURN code = Call<&DAT_PROVIDER::ep_reset_func, Text("dat_ep_reset")>::call(ep);
    if (code != kSuccess) return code;
    with_endpoint(ep, [](Model& state, Object& object) NO_THREAD_SAFETY_ANALYSIS {
        Endpoint& endpoint = *object.endpoint;
        endpoint.has_unfollowed |= !endpoint.requests.empty() || !endpoint.receives.empty();
        endpoint.connection = Connection::kUnknown;
        state.end_transfers(object);
        endpoint.is_over = false;
        endpoint.is_accepting = endpoint.may_receive = false;
        endpoint.had_receive = endpoint.has_received = false;
    });
    return code;
}

DAT_RETURN ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags) {
    const DAT_RETURN code =
        Call<&DAT_PROVIDER::ep_disconnect_func, Text("dat_ep_disconnect")>::call(ep, flags);
    if (code != kSuccess) return code;
    note_over(ep);
    return code;
}

DAT_RETURN srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR* attributes,
                      DAT_SRQ_HANDLE* srq) {
    const DAT_RETURN code =
        Making<&DAT_PROVIDER::srq_create_func, Text("dat_srq_create"), Text("the SRQ")>::call(
            ia, pz, attributes, srq);
    if (code != kSuccess) return code;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(*srq);
        if (!object) return;
        Endpoint& endpoint = state.objects.add_endpoint(*object);
        endpoint.zone = pz;
        endpoint.most_receive_segments = attributes->max_recv_iov;
    });
    return code;
}

}  // namespace entry
}  // namespace check::dat
