// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/manager.hpp"

#include <algorithm>
#include <cstring>

#include "dapl/base/codes.hpp"
#include "device/address.hpp"
#include "providers/ucm/active.hpp"
#include "providers/ucm/listener.hpp"
#include "support/log/log.hpp"

namespace dapl::ucm {

Manager::Manager(cm::LoopHold running, std::string_view opened_as, cm::OpenDevice device,
                 std::shared_ptr<Service> service)
    : cm::Manager(std::move(running), opened_as),
      device_(std::move(device)),
      port_(device_.context.get(), device_.choice, opened_as),
      service_(std::move(service)),
      adapter_{port_.context(), port_.number(), to_socket_address(service_->address())} {}

Manager::~Manager() {
    const support::MutexLock guard(connection_lock);
    service_->finish_disconnects();
    service_.reset();
}

void Manager::explain(const support::Facts& facts) const {
    facts.note("address", dapl::to_text(adapter_.address), "device",
               "the queue pair that carries the messages of connections, its port's LID and GID; "
               "the program hands them to its peers");
    port_.explain(facts);
}

DAT_COUNT Manager::max_private_data() const {
    return exchange::kMaxPrivateData;
}

cm::Limits Manager::limits() const {
    return exchange::kLimits;
}

std::optional<cm::DatagramService> Manager::datagrams() const {
    return cm::DatagramService{exchange::kQueueKey, port_.p_key_index(), limits()};
}

support::Result<std::unique_ptr<cm::Connection>> Manager::connect(const sockaddr* peer,
                                                                  std::uint64_t conn_qual,
                                                                  const cm::Parameters& parameters,
                                                                  cm::User& user) {
    sockaddr_storage address{};
    std::memcpy(&address, peer, exchange::kAddressSize);
    const QpAddress to = from_socket_address(address);
    if (port_of(conn_qual) == 0)
        return support::failure(raw(DAT_INVALID_ADDRESS), "the qualifier has no port");
    const bool has_gid = std::ranges::any_of(to.gid, [](std::uint8_t byte) { return byte != 0; });
    const bool needs_gid = port_.choice().link_layer == IBV_LINK_LAYER_ETHERNET;
    if (to.qpn == 0 || to.qpn > exchange::kLargestQpn || (needs_gid ? !has_gid : to.lid == 0)) {
        support::report<support::kNoPeerAddress>(ia_name, queue_pair_text(address),
                                                 needs_gid ? "GID" : "LID");
        return support::failure(raw(DAT_INVALID_ADDRESS), "not the address of a service");
    }
    const std::uint32_t id = service_->free_id();
    if (id == 0)
        return support::failure(raw(DAT_INSUFFICIENT_RESOURCES), "no id of a connection is left");
    auto connection =
        std::make_unique<ActiveConnection>(*this, address, port_of(conn_qual), id, user);
    if (const auto started = connection->start(parameters); !started)
        return tl::unexpected(started.error());
    return connection;
}

support::Result<std::unique_ptr<cm::Listener>> Manager::listen(std::uint64_t conn_qual,
                                                               cm::ListenUser& user) {
    if (port_of(conn_qual) == 0)
        return support::failure(raw(DAT_INVALID_PARAMETER), "the qualifier has no port");
    auto listener = std::make_unique<Listener>(*this, user);
    if (const auto started = listener->start(port_of(conn_qual)); !started)
        return tl::unexpected(started.error());
    return listener;
}

support::Result<std::unique_ptr<cm::Manager>> open_manager(std::string_view ia_name,
                                                           std::string_view ia_params) {
    auto device = cm::open_device(ia_name, ia_params);
    if (!device) return tl::unexpected(device.error());
    if (device->choice.transport == IBV_TRANSPORT_IWARP) {
        support::report<support::kIwarpNeedsRdmaCm>(ia_name, device->choice.device);
        return support::failure(raw(DAT_INVALID_ADDRESS), "an iWARP device");
    }
    const auto running = cm::EventLoop::acquire();
    if (!running) return tl::unexpected(running.error());
    cm::LoopHold hold(**running);
    auto service = Service::of(ia_name, ia_params, hold.loop());
    if (!service) return tl::unexpected(service.error());
    const cm::DeviceChoice choice = device->choice;
    auto manager = std::make_unique<Manager>(std::move(hold), ia_name, std::move(*device),
                                             std::move(*service));
    cm::show_choice(ia_name, choice);
    support::trace(support::Level::kDebug, "IA {} has the address {}", ia_name,
                   dapl::to_text(manager->adapter().address));
    return manager;
}

}  // namespace dapl::ucm
