// SPDX-License-Identifier: BSD-2-Clause
#include "providers/scm/manager.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "dapl/adapter/refusal.hpp"
#include "device/address.hpp"
#include "device/explain_device.hpp"
#include "providers/scm/address.hpp"
#include "providers/scm/dialled.hpp"
#include "providers/scm/listener.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace dapl::scm {

Manager::Manager(cm::LoopHold running, std::string_view opened_as, cm::OpenDevice device,
                 const sockaddr_in& address)
    : cm::Manager(std::move(running), opened_as),
      device_(std::move(device)),
      port_(device_.context.get(), device_.choice, opened_as),
      adapter_{port_.context(), port_.number(), {}},
      host_(loop, port_, adapter_, opened_as),
      binds_outgoing_(has_bind_address(opened_as)) {
    std::memcpy(&adapter_.address, &address, sizeof address);
}

Manager::~Manager() {
    const support::MutexLock guard(connection_lock);
    host_.stop();
}

void Manager::explain(const support::Facts& facts) const {
    const std::string address = dapl::to_text(adapter_.address);
    if (has_bind_address(ia_name))
        cm::explain_setting(facts, "address", support::Setting::kScmBindAddress, address);
    else if (setting_is_set(support::Setting::kScmInterface, ia_name))
        cm::explain_setting(facts, "address", support::Setting::kScmInterface, address);
    else
        facts.note("address", address, "default",
                   "the first interface that is up and has an IPv4 address, ib interfaces last, "
                   "then loopback; DAPL_SCM_NETDEV and DAPL_SCM_BIND_ADDRESS select another");
    port_.explain(facts);
}

DAT_COUNT Manager::max_private_data() const {
    return exchange::kMaxPrivateData;
}

cm::Limits Manager::limits() const {
    return exchange::kLimits;
}

std::optional<cm::DatagramService> Manager::datagrams() const {
    if (adapter_.context->device->transport_type == IBV_TRANSPORT_IWARP) return std::nullopt;
    return cm::DatagramService{exchange::kQueueKey, port_.p_key_index(), limits()};
}

support::Result<std::unique_ptr<cm::Connection>> Manager::connect(const sockaddr* peer,
                                                                  std::uint64_t conn_qual,
                                                                  const cm::Parameters& parameters,
                                                                  cm::User& user) {
    if (peer->sa_family != AF_INET)
        return support::failure(raw(DAT_INVALID_ADDRESS),
                                "the peer's address is not an IPv4 address");
    sockaddr_in address{};
    std::memcpy(&address, peer, sizeof address);
    address.sin_port = htons(port_of(conn_qual));
    std::memset(address.sin_zero, 0, sizeof address.sin_zero);
    auto connection = std::make_unique<DialledConnection>(*this, address, parameters, user);
    if (const auto started = connection->start(); !started) return tl::unexpected(started.error());
    return connection;
}

support::Result<std::unique_ptr<cm::Listener>> Manager::listen(std::uint64_t conn_qual,
                                                               cm::ListenUser& user) {
    if (port_of(conn_qual) == 0)
        return support::failure(raw(DAT_CONN_QUAL_UNAVAILABLE), "the qualifier has no port");
    auto listener = std::make_unique<Listener>(*this, user);
    if (const auto started = listener->start(port_of(conn_qual)); !started)
        return tl::unexpected(started.error());
    return listener;
}

int Manager::bind_outgoing(int socket) const {
    if (!binds_outgoing_) return 0;
    const int on = 1;
    setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    sockaddr_in address{};
    std::memcpy(&address, &adapter_.address, sizeof address);
    return bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                          : errno;
}

void Manager::tell_no_descriptor(int error) {
    if (told_no_descriptor_) return;
    told_no_descriptor_ = true;
    [[maybe_unused]] const auto told = refused_by_system(error, "a connecting peer");
}

support::Result<std::unique_ptr<cm::Manager>> open_manager(std::string_view ia_name,
                                                           std::string_view ia_params) {
    auto device = cm::open_device(ia_name, ia_params);
    if (!device) return tl::unexpected(device.error());
    if (device->choice.transport == IBV_TRANSPORT_IWARP) {
        support::report<support::kIwarpNeedsRdmaCm>(ia_name, device->choice.device);
        return support::failure(raw(DAT_INVALID_ADDRESS), "an iWARP device");
    }
    const auto address = own_address(ia_name);
    if (!address) return tl::unexpected(address.error());
    const auto running = cm::EventLoop::acquire();
    if (!running) return tl::unexpected(running.error());
    const cm::DeviceChoice choice = device->choice;
    cm::LoopHold hold(**running);
    auto manager =
        std::make_unique<Manager>(std::move(hold), ia_name, std::move(*device), *address);
    cm::show_choice(ia_name, choice);
    support::trace(support::Level::kDebug, "IA {} listens at {}", ia_name,
                   dapl::to_text(manager->adapter().address));
    return manager;
}

}  // namespace dapl::scm
