// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Identifiers before the connection: creation, binding, resolution, listening, migration, options,
/// destruction.
#include <arpa/inet.h>
#include <infiniband/sa.h>

#include <cstring>

#include "providers/soft/softverbs/cm/engine.hpp"
#include "providers/soft/softverbs/fabric/address.hpp"
#include "support/log/log.hpp"

namespace softverbs {
namespace {

constexpr std::uint8_t kRoceHops = 64;  ///< of a path between IP addresses, as Linux has it

in6_addr loopback(int family) {
    return family == AF_INET6 ? in6addr_loopback : mapped({htonl(INADDR_LOOPBACK)});
}

bool is_own(Process& process, const in6_addr& address) {
    return is_loopback(address) || same_address(address, process.address()) || is_local(address);
}

/// Reserves the port; a specific address also binds the identifier to the device.
/// @param destination PortKey's. As in Linux it matters only for a port that is chosen here.
int bind(Identifier& id, const in6_addr& address, std::uint16_t port,
         std::uint32_t destination = 0) {
    const bool is_v4 = same_family(address, mapped({INADDR_ANY}));
    PortKey wanted = {id.public_part.ps, address, port, id.one_family.value_or(is_v4),
                      port == 0 ? destination : 0};
    auto given = id.engine->index().bind_port(wanted, id.share_port);
    if (!given) return given.error();
    support::MutexLock lock(id.engine->mutex);
    wanted.port = *given;
    id.bound = wanted;
    id.chose_port = port != 0;
    id.source = address;
    id.source_port = *given;
    id.state = State::kBound;
    fill(id.public_part.route.addr.src_storage, address, *given);
    if (!is_any(address)) id.engine->bind_to_device(id);
    return 0;
}

int bind_address(Identifier& id, const sockaddr* address, std::uint32_t destination = 0) {
    const auto wanted = address_of(address);
    if (!wanted || id.state != State::kIdle) return EINVAL;
    if (!is_any(*wanted) && !is_own(id.engine->process(), *wanted)) return EADDRNOTAVAIL;
    return bind(id, *wanted, port_of(address), destination);
}

/// libfabric binds an identifier to test a loopback address, destroys it, and then binds the
/// identifier that is to listen to port 0. This one gets the tested port.
int bind_to_tried_port(Identifier& id, const sockaddr* address) {
    const auto wanted = address_of(address);
    if (!wanted || id.state != State::kIdle || port_of(address) != 0) return EINVAL;
    std::optional<PortKey> tried;
    {
        support::MutexLock lock(id.engine->mutex);
        tried.swap(id.engine->tried_port);
    }
    if (!tried || tried->port_space != static_cast<std::uint32_t>(id.public_part.ps) ||
        !same_address(tried->address, *wanted))
        return EINVAL;
    return bind(id, *wanted, tried->port);
}

/// rdma_bind_addr().
int bind_by_call(Identifier& id, const sockaddr* address) {
    return bind_to_tried_port(id, address) == 0 ? 0 : bind_address(id, address);
}

/// The address that packets to `destination` would carry. A device reaches itself from its own.
in6_addr source_for(Process& process, const in6_addr& destination, int family) {
    if (device_at(destination) != 0) return destination;
    const bool needs_other_family =
        is_multicast(destination) && !same_family(destination, process.address());
    if (is_loopback(destination) || needs_other_family) return loopback(family);
    return is_local(destination) ? destination : process.address();
}

bool is_reachable(Engine& engine, const in6_addr& destination) {
    return is_own(engine.process(), destination) || is_multicast(destination) ||
           engine.index().is_published(destination);
}

int resolve_address(Identifier& id, sockaddr* source, const sockaddr* destination) {
    auto wanted = address_of(destination);
    if (!wanted) return EINVAL;
    if (is_any(*wanted)) wanted = loopback(destination->sa_family);
    const int family = destination->sa_family;
    const std::uint32_t goal = hash_of_destination(*wanted, port_of(destination));
    if (id.state == State::kIdle && source && source->sa_family != AF_UNSPEC)
        if (const int error = bind_address(id, source, goal)) return error;
    if (id.state != State::kIdle && id.state != State::kBound) return EINVAL;
    const bool reachable = is_reachable(*id.engine, *wanted);
    if (!reachable) support::report<support::kNotOurDestination>(text_of(*wanted));
    const in6_addr from = source_for(id.engine->process(), *wanted, family);
    if (reachable && id.state == State::kIdle)
        if (const int error = bind(id, from, 0, goal)) return error;
    support::MutexLock lock(id.engine->mutex);
    id.service = port_of(destination);
    if (!reachable) {
        id.engine->push(id, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
        return 0;
    }
    if (id.engine->process().faults().of(faults::Subject::kResolveAddr, {id.service})) {
        id.engine->push(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
        return 0;
    }
    if (is_any(id.source)) id.source = from;
    id.destination = *wanted;
    id.destination_port = port_of(destination);
    fill(id.public_part.route.addr.src_storage, id.source, id.source_port);
    fill(id.public_part.route.addr.dst_storage, id.destination, id.destination_port);
    id.engine->bind_to_device(id);
    id.state = State::kAddressResolved;
    id.engine->push(id, RDMA_CM_EVENT_ADDR_RESOLVED);
    return 0;
}

void fill_path(Identifier& id) {
    const rdma_ib_addr& address = id.public_part.route.addr.addr.ibaddr;
    ibv_port_attr port = {};
    ibv_query_port(id.public_part.verbs, 1, &port);
    id.path.sgid = address.sgid;
    id.path.dgid = address.dgid;
    id.path.hop_limit = is_roce() ? kRoceHops : 0;
    id.path.slid = htons(port.lid);
    id.path.dlid = htons(lid_of(id.engine->process(), id.remote_port));
    id.path.pkey = address.pkey;
    id.path.reversible = 1;
    id.path.numb_path = 1;
    id.path.mtu_selector = id.path.rate_selector = id.path.packet_life_time_selector =
        2;  // exactly
    id.path.mtu = static_cast<std::uint8_t>(port.active_mtu);
    id.public_part.route.path_rec = &id.path;
    id.public_part.route.num_paths = 1;
}

void resolve_route(Identifier& id) REQUIRES(id.engine->mutex) {
    if (id.engine->process().faults().of(faults::Subject::kResolveRoute, {id.service})) {
        id.engine->push(id, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
        return;
    }
    fill_path(id);
    id.engine->push(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
    id.state = State::kRouteResolved;
}

int listen(Identifier& id) {
    if (id.state == State::kIdle)
        if (const int error = bind(id, mapped({INADDR_ANY}), 0)) return error;
    if (id.state != State::kBound) return id.state == State::kListening ? 0 : EINVAL;
    // Known in this process first: a request may arrive as soon as the port is published.
    {
        support::MutexLock lock(id.engine->mutex);
        id.engine->listen(id);
    }
    const auto published = id.engine->index().listen_port(*id.bound);
    return published ? 0 : published.error();
}

struct DestroyChannel {
    void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
/// The channel of a synchronous identifier.
using OwnChannel = std::unique_ptr<rdma_event_channel, DestroyChannel>;

int create_identifier(rdma_event_channel* channel, rdma_cm_id** result, void* context,
                      rdma_port_space port_space) {
    if (!result) return EINVAL;
    if (port_space != RDMA_PS_TCP && port_space != RDMA_PS_IB && !is_datagram_space(port_space))
        return EOPNOTSUPP;
    auto id = std::make_unique<Identifier>();
    const auto engine = Engine::acquire();
    if (!engine) return engine.error();
    EngineReference reference(*engine);
    id->engine = *engine;
    id->is_synchronous = !channel;
    OwnChannel own(channel ? nullptr : rdma_create_event_channel());
    id->public_part.channel = channel ? channel : own.get();
    if (!id->public_part.channel) return errno;
    id->public_part.context = context;
    id->public_part.ps = port_space;
    id->public_part.qp_type = is_datagram_space(port_space) ? IBV_QPT_UD : IBV_QPT_RC;
    support::MutexLock lock(id->engine->mutex);
    id->engine->add(*id);
    reference.keep();
    static_cast<void>(own.release());
    *result = id.release()->handle();
    return 0;
}

void destroy_identifier(Identifier& id) {
    forget_event(id);
    {
        support::MutexLock lock(id.engine->mutex);
        if (id.state == State::kBound && id.chose_port && is_loopback(id.bound->address))
            id.engine->tried_port = id.bound;
        id.engine->remove(id);
    }
    detach_from_groups(id);
    if (id.bound) id.engine->index().release_port(*id.bound);
    if (id.is_synchronous) rdma_destroy_event_channel(id.public_part.channel);
    delete &id;
    Engine::release();
}

int migrate(Identifier& id, rdma_event_channel* channel) {
    const bool becomes_synchronous = !channel;
    if (!channel) channel = rdma_create_event_channel();
    if (!channel) return errno;
    forget_event(id);
    rdma_event_channel* const before = id.public_part.channel;
    {
        support::MutexLock lock(id.engine->mutex);
        id.engine->move_events(id, *reinterpret_cast<EventChannel*>(channel));
    }
    if (id.is_synchronous) rdma_destroy_event_channel(before);
    id.is_synchronous = becomes_synchronous;
    return 0;
}

int set_option(Identifier& id, int level, int name, const void* value, std::size_t length) {
    if (level == RDMA_OPTION_IB) return EOPNOTSUPP;  // there is one path
    if (level != RDMA_OPTION_ID) return ENOSYS;
    switch (name) {
        case RDMA_OPTION_ID_REUSEADDR: {
            int share = 0;
            if (length != sizeof share) return EINVAL;
            if (id.state != State::kIdle) return EINVAL;
            std::memcpy(&share, value, sizeof share);
            id.share_port = share != 0;
            return 0;
        }
        // Without a network there is no other class of service.
        case RDMA_OPTION_ID_TOS:
            return length == sizeof(std::uint8_t) ? 0 : EINVAL;
        case RDMA_OPTION_ID_ACK_TIMEOUT: {
            std::uint8_t timeout = 0;
            if (length != sizeof timeout || id.is_datagram()) return EINVAL;
            std::memcpy(&timeout, value, sizeof timeout);
            support::MutexLock lock(id.engine->mutex);
            id.ack_timeout = timeout;
            return 0;
        }
        case RDMA_OPTION_ID_AFONLY: {
            int one_family = 0;
            if (length != sizeof one_family) return EINVAL;
            std::memcpy(&one_family, value, sizeof one_family);
            // The port's record has been written by then.
            if (id.state == State::kBound)
                return id.bound->one_family == (one_family != 0) ? 0 : EINVAL;
            if (id.state != State::kIdle) return EINVAL;
            id.one_family = one_family != 0;
            return 0;
        }
        default:
            return ENOSYS;
    }
}

}  // namespace
}  // namespace softverbs

using softverbs::CancellationDisabled;
using softverbs::guarded;
using softverbs::Identifier;
using softverbs::State;

extern "C" {

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space port_space) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::create_identifier(channel, id, context, port_space);
    });
}

int rdma_destroy_id(rdma_cm_id* id) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        softverbs::destroy_identifier(Identifier::of(id));
        return 0;
    });
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return address ? softverbs::bind_by_call(Identifier::of(id), address) : EINVAL;
    });
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        if (!destination) return EINVAL;
        forget_event(Identifier::of(id));
        const int error = softverbs::resolve_address(Identifier::of(id), source, destination);
        return error ? error : complete(Identifier::of(id));
    });
}

int rdma_resolve_route(rdma_cm_id* handle, int) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        Identifier& id = Identifier::of(handle);
        forget_event(id);
        {
            support::MutexLock lock(id.engine->mutex);
            if (id.state != State::kAddressResolved) return EINVAL;
            softverbs::resolve_route(id);
        }
        return complete(id);
    });
}

int rdma_listen(rdma_cm_id* id, int) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::listen(Identifier::of(id));
    });
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
    return guarded([&] {
        CancellationDisabled no_cancellation;
        return softverbs::migrate(Identifier::of(id), channel);
    });
}

int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t length) {
    return guarded(
        [&] { return softverbs::set_option(Identifier::of(id), level, name, value, length); });
}

__be16 rdma_get_src_port(rdma_cm_id* id) {
    return htons(softverbs::port_of(&id->route.addr.src_addr));
}

__be16 rdma_get_dst_port(rdma_cm_id* id) {
    return htons(softverbs::port_of(&id->route.addr.dst_addr));
}

}  // extern "C"
