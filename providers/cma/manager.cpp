// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/manager.hpp"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "dapl/address.hpp"
#include "dapl/cm/device.hpp"
#include "dapl/cm/explain_device.hpp"
#include "dapl/cm/failure.hpp"
#include "dapl/support/log.hpp"
#include "dapl/support/thread_errors.hpp"
#include "providers/cma/conn_qual.hpp"
#include "providers/cma/connection.hpp"
#include "providers/cma/datagram_message.hpp"
#include "providers/cma/device.hpp"
#include "providers/cma/event.hpp"
#include "providers/cma/queue_pair.hpp"

namespace dapl::cma {
namespace {

/// After this many events the loop looks at its other sources and timers.
constexpr int kEventsPerTurn = 32;

}  // namespace

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
    bound_id_.reset();
}

bool Manager::is_infiniband() const {
    return adapter_.context->device->transport_type == IBV_TRANSPORT_IB;
}

std::optional<cm::DeviceChoice> Manager::device_choice() const {
    std::optional<verbs::GidChoice> gid;
    if (const auto table = verbs::read_gid_table(adapter_.context); table && is_infiniband())
        gid = verbs::find_gid(*table, adapter_.port, bound_id_->route.addr.addr.ibaddr.sgid);
    auto choice = cm::describe(adapter_.context, adapter_.port, gid);
    if (!choice) return std::nullopt;  // the adapter instance asks the same and answers for it
    return std::move(*choice);
}

void Manager::show_choice(std::string_view ia_name) const {
    if (const auto choice = device_choice()) cm::show_choice(ia_name, *choice);
}

void Manager::explain(const support::Facts& facts) const {
    facts.note("address", dapl::to_text(adapter_.address), "ia_params", reason_for(choice_, name_));
    if (const auto choice = device_choice())
        cm::explain_device(facts, adapter_.context, *choice, "rdma_cm");
    explain_own_device(facts, adapter_.context->device->name);
}

DAT_COUNT Manager::max_private_data() const {
    return kInfiniBandLimits.connect;
}

cm::Limits Manager::limits() const {
    return is_infiniband() ? kInfiniBandLimits : kIwarpLimits;
}

std::optional<cm::DatagramService> Manager::datagrams() const {
    if (!kDeviceServesDatagrams) return std::nullopt;
    return cm::DatagramService{kDatagramKey, 0, kDatagramLimits};
}

support::Result<std::unique_ptr<cm::Connection>> Manager::connect(const sockaddr* peer,
                                                                  std::uint64_t conn_qual,
                                                                  const cm::Parameters& parameters,
                                                                  cm::User& user) {
    auto connection = std::make_unique<Connection>(*this, parameters, user);
    if (const auto started = connection->start(peer, port_of(conn_qual)); !started)
        return tl::unexpected(started.error());
    return connection;
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
        static_cast<EventTarget*>(event.id->context)->handle(event);
        // Others had connection_lock meanwhile, and may have ended this manager.
        if (event.type == RDMA_CM_EVENT_CONNECT_RESPONSE) return;
    }
}

void Manager::handle(const Event& event) {
    if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL)
        support::report<support::kDeviceRemoved>(adapter_.context->device->name,
                                                 to_text(adapter_.address));
}

}  // namespace dapl::cma

namespace dapl::cm {
namespace {

/// @param told a software device below has told the user what is wrong.
tl::unexpected<support::Error> fail(std::string_view ia_name, const DeviceFault& fault, bool told) {
    return told ? failure_of(fault) : tell(ia_name, fault);
}

}  // namespace

support::Result<std::unique_ptr<Manager>> open_manager(std::string_view ia_name,
                                                       std::string_view ia_params) {
    const cma::DeviceName name = cma::parse_parameters(ia_params);
    const auto address = cma::choose_address(name);
    if (!address) return tell(ia_name, cma::why_no_address(name));
    const auto told_below = [before = support::thread_errors().count] {
        return support::thread_errors().count != before;
    };
    const auto running = EventLoop::acquire();
    if (!running) return tl::unexpected(running.error());
    auto manager = std::make_unique<cma::Manager>(**running, ia_name, name, *address);
    if (const int error = manager->open_channel())
        return fail(ia_name, cma::why_no_rdma_cm(error), told_below());
    if (const int error = manager->bind())
        return fail(ia_name, cma::why_no_device_at(address->address, error), told_below());
    manager->show_choice(ia_name);
    return manager;
}

}  // namespace dapl::cm
