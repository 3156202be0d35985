// SPDX-License-Identifier: BSD-2-Clause
#include "test/fuzz/fake_rdmacm.hpp"

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "providers/cma/manager.hpp"
#include "providers/cma/rdma_devices.hpp"

namespace {

/// An event with its private data in a buffer of the exact size, so that the address sanitizer
/// catches a read past the end.
struct Raised {
    rdma_cm_event base{};
    std::vector<std::byte> data;
};

struct Channel {
    rdma_event_channel base{};
    std::deque<Raised*> events;
    std::size_t fetches_of_nothing = 0;
};

std::mutex mutex;
std::condition_variable read_empty;
std::vector<rdma_cm_id*> alive;
ibv_context* device = nullptr;
fake::Calls made{};
int connect_error = 0;
int establish_error = 0;
int datagram_listen_error = 0;

/// Counts a call. @param error errno with which it fails, 0 for success.
int counted(int& calls, int error = 0) {
    const std::lock_guard guard(mutex);
    ++calls;
    errno = error;
    return error ? -1 : 0;
}

Channel& channel_of(rdma_event_channel* channel) {
    return *reinterpret_cast<Channel*>(channel);
}

rdma_cm_id* make_id(rdma_event_channel* channel, void* context, rdma_port_space space) {
    auto* id = new rdma_cm_id{};
    id->ps = space;
    id->channel = channel;
    id->context = context;
    id->route.addr.src_addr.sa_family = AF_INET;
    id->route.addr.dst_addr.sa_family = AF_INET;
    return id;
}

void bind(rdma_cm_id& id) {
    id.verbs = device;
    id.port_num = 1;
}

}  // namespace

namespace fake {

const dapl::Library kRdmaLibrary = {[](std::string_view ia_name, std::string_view ia_params) {
                                        return dapl::cma::open_manager(dapl::cma::kRdmaDevices,
                                                                       ia_name, ia_params);
                                    },
                                    {}};

void bind_to(ibv_context* context) {
    device = context;
}

Calls calls() {
    const std::lock_guard guard(mutex);
    return made;
}
void refuse_connects(int error) {
    const std::lock_guard guard(mutex);
    connect_error = error;
}

void refuse_to_establish(int error) {
    const std::lock_guard guard(mutex);
    establish_error = error;
}

void refuse_datagram_listeners(int error) {
    const std::lock_guard guard(mutex);
    datagram_listen_error = error;
}

std::vector<rdma_cm_id*> identifiers() {
    const std::lock_guard guard(mutex);
    return alive;
}

void raise(rdma_cm_id& id, rdma_cm_event_type type, int status, std::span<const std::byte> data,
           bool null) {
    auto* raised = new Raised;
    raised->data.assign(data.begin(), data.end());
    rdma_cm_event& event = raised->base;
    event.id = &id;
    event.event = type;
    event.status = status;
    event.param.conn.private_data = null ? nullptr : raised->data.data();
    event.param.conn.private_data_len = static_cast<std::uint8_t>(data.size());
    event.param.conn.responder_resources = static_cast<std::uint8_t>(status);
    event.param.conn.initiator_depth = static_cast<std::uint8_t>(status >> 8);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        event.listen_id = &id;
        event.id = make_id(id.channel, nullptr, id.ps);
        bind(*event.id);
    }
    Channel& channel = channel_of(id.channel);
    std::unique_lock guard(mutex);
    channel.events.push_back(raised);
    const std::size_t before = channel.fetches_of_nothing;
    eventfd_write(channel.base.fd, 1);
    read_empty.wait(guard, [&] { return channel.fetches_of_nothing != before; });
}

}  // namespace fake

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
    auto* channel = new Channel;
    channel->base.fd = eventfd(0, EFD_CLOEXEC);
    return &channel->base;
}
void rdma_destroy_event_channel(rdma_event_channel* channel) {
    close(channel->fd);
    delete &channel_of(channel);
}

int rdma_get_cm_event(rdma_event_channel* from, rdma_cm_event** event) {
    const std::lock_guard guard(mutex);
    Channel& channel = channel_of(from);
    if (channel.events.empty()) {
        eventfd_t count;
        eventfd_read(from->fd, &count);
        ++channel.fetches_of_nothing;
        read_empty.notify_all();
        errno = EAGAIN;
        return -1;
    }
    *event = &channel.events.front()->base;
    channel.events.pop_front();
    if ((*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
        (*event)->id->context = (*event)->listen_id->context;
        alive.push_back((*event)->id);
    }
    return 0;
}
int rdma_ack_cm_event(rdma_cm_event* event) {
    delete reinterpret_cast<Raised*>(event);
    return 0;
}
const char* rdma_event_str(rdma_cm_event_type) {
    return "event";
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space space) {
    const std::lock_guard guard(mutex);
    *id = make_id(channel, context, space);
    alive.push_back(*id);
    return 0;
}
int rdma_destroy_id(rdma_cm_id* id) {
    const std::lock_guard guard(mutex);
    std::erase(alive, id);
    delete id;
    return 0;
}
int rdma_bind_addr(rdma_cm_id* id, sockaddr*) {
    bind(*id);
    return 0;
}
int rdma_resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr* peer, int timeout) {
    {
        const std::lock_guard guard(mutex);
        made.address_timeout = timeout;
    }
    bind(*id);
    std::memcpy(&id->route.addr.dst_storage, peer,
                peer->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    return counted(made.resolve_addr);
}
int rdma_resolve_route(rdma_cm_id*, int timeout) {
    {
        const std::lock_guard guard(mutex);
        made.route_timeout = timeout;
    }
    return counted(made.resolve_route);
}
int rdma_connect(rdma_cm_id*, rdma_conn_param*) {
    return counted(made.connect, connect_error);
}
int rdma_listen(rdma_cm_id* id, int) {
    const std::lock_guard guard(mutex);
    errno = id->ps == RDMA_PS_UDP ? datagram_listen_error : 0;
    return errno == 0 ? 0 : -1;
}
int rdma_accept(rdma_cm_id*, rdma_conn_param*) {
    return counted(made.accept);
}
int rdma_establish(rdma_cm_id*) {
    return counted(made.establish, establish_error);
}
/// Gives the first entry of the port's partition table, and no path to a peer.
int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
    attributes->port_num = id->port_num;
    attributes->pkey_index = 0;
    *mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX;
    return 0;
}
int rdma_reject(rdma_cm_id*, const void*, std::uint8_t) {
    return counted(made.reject);
}
int rdma_disconnect(rdma_cm_id*) {
    return counted(made.disconnect);
}
int rdma_set_option(rdma_cm_id*, int, int, void*, std::size_t) {
    return 0;
}
std::uint16_t rdma_get_src_port(rdma_cm_id*) {
    return 0;
}
std::uint16_t rdma_get_dst_port(rdma_cm_id*) {
    return 0;
}

// No device is listed: the manager finds devices by address only.
ibv_device** ibv_get_device_list(int*) {
    errno = ENOSYS;
    return nullptr;
}
void ibv_free_device_list(ibv_device**) {}
ibv_context* ibv_open_device(ibv_device*) {
    errno = ENODEV;
    return nullptr;
}
int ibv_close_device(ibv_context*) {
    return 0;
}
ssize_t _ibv_query_gid_table(ibv_context*, ibv_gid_entry*, std::size_t, std::uint32_t,
                             std::size_t) {
    return -EOPNOTSUPP;
}

}  // extern "C"
