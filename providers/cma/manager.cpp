// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/manager.hpp"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "dapl/cm/failure.hpp"
#include "device/address.hpp"
#include "device/device.hpp"
#include "device/explain_device.hpp"
#include "providers/cma/conn_qual.hpp"
#include "providers/cma/datagrams.hpp"
#include "providers/cma/device.hpp"
#include "providers/cma/listener.hpp"
#include "providers/cma/queue_pair.hpp"
#include "providers/exchange/path.hpp"
#include "providers/sockets/host.hpp"
#include "support/log/log.hpp"
#include "support/thread/thread_errors.hpp"

namespace dapl::cma {
namespace {

/// Number of events after which the loop serves its other sources and timers.
constexpr int kEventsPerTurn = 32;

}  // namespace

struct Manager::Sockets {
    Sockets(const Manager& manager, cm::DeviceChoice choice)
        : port(manager.adapter_.context, std::move(choice), manager.ia_name),
          host(manager.loop, port, manager.adapter_, manager.ia_name) {}

    exchange::Port port;
    sockets::Host host;
};

Manager::Manager(cm::LoopHold running, std::string_view opened_as, const Devices& own,
                 DeviceName name, const AddressChoice& choice)
    : cm::Manager(std::move(running), opened_as),
      devices(own),
      name_(std::move(name)),
      choice_(choice) {}

int Manager::open_channel() {
    channel_.reset(rdma_create_event_channel());
    if (!channel_) return errno;
    const int flags = fcntl(channel_->fd, F_GETFL);
    return fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : errno;
}

int Manager::bind() {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(channel_.get(), &id, static_cast<EventTarget*>(this), RDMA_PS_TCP) != 0)
        return errno;
    bound_id_.reset(id);
    adapter_.address = choice_.address;
    if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&adapter_.address)) != 0) return errno;
    if (!id->verbs) return ENODEV;
    adapter_.context = id->verbs;
    adapter_.port = id->port_num;
    keeps_first_partition_ = is_infiniband() && partition_index(id) == 0;
    const support::MutexLock guard(connection_lock);
    const auto watched = loop.watch(channel_->fd, *this);
    return watched ? 0 : ENOMEM;
}

Manager::~Manager() {
    const support::MutexLock guard(connection_lock);
    if (channel_) loop.forget(channel_->fd);
    if (sockets_) sockets_->host.stop();
    sockets_.reset();
    bound_id_.reset();
}

std::optional<cm::Limits> Manager::socket_limits() const {
    if (!is_infiniband()) return std::nullopt;
    return exchange::kLimits;
}

support::Result<cm::SocketService*> Manager::sockets() {
    if (!is_infiniband()) return cm::Manager::sockets();
    if (!sockets_) {
        auto choice = device_choice();
        if (!choice)
            return support::failure(raw(DAT_INTERNAL_ERROR),
                                    "the device does not tell its port's state");
        sockets_ = std::make_unique<Sockets>(*this, std::move(*choice));
    }
    return &sockets_->host;
}

bool Manager::is_infiniband() const {
    return adapter_.context->device->transport_type == IBV_TRANSPORT_IB;
}

std::optional<verbs::GidChoice> Manager::gid() const {
    const auto table = verbs::read_gid_table(adapter_.context);
    if (!table || !is_infiniband()) return std::nullopt;
    return verbs::find_gid(*table, adapter_.port, bound_id_->route.addr.addr.ibaddr.sgid);
}

std::optional<cm::DeviceChoice> Manager::device_choice() const {
    auto choice = cm::describe(adapter_.context, adapter_.port, gid());
    if (!choice) return std::nullopt;  // the adapter instance queries the same and reports it
    return std::move(*choice);
}

void Manager::show_choice(std::string_view ia_name) const {
    if (const auto choice = device_choice()) cm::show_choice(ia_name, *choice);
}

void Manager::explain(const support::Facts& facts) const {
    facts.note("address", dapl::to_text(adapter_.address), "ia_params", reason_for(choice_, name_));
    if (const auto choice = device_choice())
        cm::explain_device(facts, adapter_.context, *choice, "rdma_cm");
    devices.explain(facts, adapter_.context->device->name);
}

DAT_COUNT Manager::max_private_data() const {
    return kInfiniBandLimits.connect;
}

cm::Limits Manager::limits() const {
    return is_infiniband() ? kInfiniBandLimits : kIwarpLimits;
}

std::optional<cm::DatagramService> Manager::datagrams() const {
    if (!is_infiniband()) return std::nullopt;
    return cm::DatagramService{kDatagramKey, 0, kDatagramLimits};
}

support::Result<Id> Manager::make_id(EventTarget& target, rdma_port_space space) const {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(channel_.get(), &id, &target, space) != 0)
        return cm::system_failure(errno, "rdma_create_id");
    return Id(id);
}

support::Result<std::unique_ptr<cm::Connection>> Manager::connect(const sockaddr* peer,
                                                                  std::uint64_t conn_qual,
                                                                  const cm::Parameters& parameters,
                                                                  cm::User& user) {
    const auto begin = [](auto connection, rdma_port_space space) REQUIRES(
                           connection_lock) -> support::Result<std::unique_ptr<cm::Connection>> {
        if (const auto started = connection->start(space); !started)
            return tl::unexpected(started.error());
        return connection;
    };
    const std::uint16_t port = port_of(conn_qual);
    if (parameters.qp->qp_type == IBV_QPT_UD)
        return begin(std::make_unique<ActiveDatagrams>(*this, peer, port, parameters, user),
                     RDMA_PS_UDP);
    return begin(std::make_unique<ActiveConnection>(*this, peer, port, parameters, user),
                 RDMA_PS_TCP);
}

support::Result<std::unique_ptr<cm::Listener>> Manager::listen(std::uint64_t conn_qual,
                                                               cm::ListenUser& user) {
    auto listener = std::make_unique<Listener>(*this, user);
    if (const auto started = listener->start(port_of(conn_qual)); !started)
        return tl::unexpected(started.error());
    return listener;
}

void Manager::ready() {
    for (int count = 0; count < kEventsPerTurn; ++count) {
        rdma_cm_event* original = nullptr;
        if (rdma_get_cm_event(channel_.get(), &original) != 0) return;
        const Event event(*original, is_infiniband());
        rdma_ack_cm_event(original);
        auto* const target = static_cast<EventTarget*>(event.id->context);
        try {
            target->handle(event);
        } catch (const std::bad_alloc&) {
            target->give_up();
            throw;
        }
        // connection_lock was free in between: others may have ended this manager.
        if (event.type == RDMA_CM_EVENT_CONNECT_RESPONSE) return;
    }
}

void Manager::handle(const Event& event) {
    if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL)
        support::report<support::kDeviceRemoved>(adapter_.context->device->name,
                                                 dapl::to_text(adapter_.address));
}

namespace {

/// @param told whether the software device below has reported the cause already.
tl::unexpected<support::Error> fail(std::string_view ia_name, const cm::DeviceFault& fault,
                                    bool told) {
    return told ? cm::failure_of(fault) : cm::tell(ia_name, fault);
}

}  // namespace

support::Result<std::unique_ptr<cm::Manager>> open_manager(const Devices& devices,
                                                           std::string_view ia_name,
                                                           std::string_view ia_params) {
    const DeviceName name = parse_parameters(ia_params);
    const auto address = choose_address(name, devices);
    if (!address) return cm::tell(ia_name, devices.why_no_address(name));
    const auto told_below = [before = support::thread_errors().count] {
        return support::thread_errors().count != before;
    };
    const auto running = cm::EventLoop::acquire();
    if (!running) return tl::unexpected(running.error());
    cm::LoopHold hold(**running);
    auto manager = std::make_unique<Manager>(std::move(hold), ia_name, devices, name, *address);
    if (const int error = manager->open_channel())
        return fail(ia_name, devices.why_no_rdma_cm(error), told_below());
    if (const int error = manager->bind())
        return fail(ia_name, devices.why_no_device_at(address->address, error), told_below());
    manager->show_choice(ia_name);
    return manager;
}

}  // namespace dapl::cma
