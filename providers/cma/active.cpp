// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/active.hpp"

#include <netinet/in.h>

#include <atomic>
#include <cerrno>

#include "dapl/cm/failure.hpp"
#include "device/address.hpp"
#include "providers/cma/queue_pair.hpp"
#include "support/log/log.hpp"

namespace dapl::cma {
namespace {

void set_type_of_service(rdma_cm_id* id, std::string_view ia_name) {
    auto tos =
        static_cast<std::uint8_t>(setting_integer(support::Setting::kCmTypeOfService, ia_name));
    if (tos == 0) return;
    if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos) == 0) return;
    static std::atomic<bool> told{false};
    if (!told.exchange(true))
        support::report<support::kTypeOfServiceRefused>(ia_name, tos, cm::text_of_error(errno));
}

/// Gives a link-local peer address without an interface that of the IA: the peer can be on no
/// other.
void lend_scope(sockaddr_storage& peer, const sockaddr_storage& own) {
    if (peer.ss_family != AF_INET6 || own.ss_family != AF_INET6) return;
    auto& to = reinterpret_cast<sockaddr_in6&>(peer);
    const auto& from = reinterpret_cast<const sockaddr_in6&>(own);
    if (IN6_IS_ADDR_LINKLOCAL(&to.sin6_addr) && to.sin6_scope_id == 0)
        to.sin6_scope_id = from.sin6_scope_id;
}

}  // namespace

ActiveConnection::ActiveConnection(const Manager& manager, const sockaddr* peer, std::uint16_t port,
                                   const cm::Parameters& parameters, cm::User& user)
    : Connection(manager, ip_address(peer).value_or(sockaddr_storage{}), &user, nullptr) {
    set_port(peer_, port);
    lend_scope(peer_, manager.adapter().address);
    take(parameters, kLargestGiven);
}

support::Result<void> ActiveConnection::start(rdma_port_space space) {
    auto id = manager_.make_id(*this, space);
    if (!id) return tl::unexpected(id.error());
    id_ = std::move(*id);
    set_type_of_service(id_.get(), manager_.ia_name);
    begin(Step::kAddress);
    return {};
}

void ActiveConnection::begin(Step step) {
    step_ = step;
    tries_ = 1;
    switch (step) {
        case Step::kAddress:
            return resolve_address();
        case Step::kRoute:
            return resolve_route();
        case Step::kAnswer:
            return send_request();
    }
}

cm::Progress ActiveConnection::progress() const {
    if (state_ == State::kHandshake && step_ != Step::kAnswer)
        return {step_ == Step::kAddress ? "resolving the address" : "resolving the route", tries_};
    return {"waiting for the peer's answer", tries_};
}

void ActiveConnection::handle(const Event& event) {
    switch (event.type) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            return begin(Step::kRoute);
        case RDMA_CM_EVENT_ADDR_ERROR:
            return address_error(event);
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
            return begin(Step::kAnswer);
        case RDMA_CM_EVENT_ROUTE_ERROR:
            if (may_retry(event, support::Setting::kCmRouteRetries)) return resolve_route();
            return not_made(cm::Outcome::kUnreachable, to_text(event));
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
            received(cm::message::kAccept, event);
            return connect_queue_pair(event);
        case RDMA_CM_EVENT_ESTABLISHED:
            received(cm::message::kAccept, event);
            return report(cm::Outcome::kEstablished, event.data.all());
        default:
            return Connection::handle(event);
    }
}

void ActiveConnection::resolve_address() {
    sockaddr_storage own = manager_.adapter().address;
    if (own.ss_family != peer_.ss_family)
        return not_made(cm::Outcome::kUnreachable,
                        "one of the two is an IPv4 address, the other an IPv6 address");
    const auto timeout = setting_integer(support::Setting::kCmArpTimeout, manager_.ia_name);
    if (rdma_resolve_addr(id_.get(), reinterpret_cast<sockaddr*>(&own),
                          reinterpret_cast<sockaddr*>(&peer_), static_cast<int>(timeout)) != 0)
        not_made(cm::Outcome::kUnreachable, "rdma_resolve_addr: " + cm::text_of_error(errno));
}

void ActiveConnection::resolve_route() {
    const auto timeout = setting_integer(support::Setting::kCmRouteTimeout, manager_.ia_name);
    if (rdma_resolve_route(id_.get(), static_cast<int>(timeout)) != 0)
        not_made(cm::Outcome::kUnreachable, "rdma_resolve_route: " + cm::text_of_error(errno));
}

void ActiveConnection::send_request() {
    lend_queue_pair();
    rdma_conn_param connection = parameters();
    trace_sent(*this, user_, cm::message::kRequest, own_.private_data.size());
    if (manager_.is_infiniband())
        return requested(rdma_connect(id_.get(), &connection) == 0 ? 0 : errno);
    connecting_ = std::make_unique<ConnectThread>(
        manager_.loop, id_.get(), connection,
        [this](int error) REQUIRES(connection_lock) { requested(error); });
    if (const int error = connecting_->start()) requested(error);
}

void ActiveConnection::requested(int error) {
    if (error == 0) return;
    const std::string cause = "rdma_connect: " + cm::text_of_error(error);
    support::trace(support::Level::kDebug, "{}", cause);
    if (error == ECONNREFUSED) return not_made(cm::Outcome::kNonPeerRejected, cause);
    if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH)
        return not_made(cm::Outcome::kUnreachable, cause);
    report(cm::Outcome::kLocalFailure);
}

void ActiveConnection::connect_queue_pair(const Event& event) {
    rdma_cm_id* const id = id_.get();
    const QueuePairMove move{own_.qp, manager_.keeps_first_partition(), std::nullopt};
    int error = 0;
    const bool goes_on = moving_.run([&] {
        error = make_ready(id, move);
        if (error == 0 && rdma_establish(id) != 0) error = errno;
    });
    if (!goes_on) return;
    if (error == 0) return report(cm::Outcome::kEstablished, event.data.all());
    rdma_reject(id, nullptr, 0);
    not_made(cm::Outcome::kUnreachable,
             "the queue pair's path to the peer: " + cm::text_of_error(error));
}

void ActiveConnection::disconnect() {
    connecting_.reset();  // the kernel would make us wait for it
    Connection::disconnect();
}

bool ActiveConnection::may_retry(const Event& event, support::Setting most) {
    if (event.status != -ETIMEDOUT || tries_ >= setting_integer(most, manager_.ia_name))
        return false;
    ++tries_;
    return true;
}

void ActiveConnection::address_error(const Event& event) {
    if (may_retry(event, support::Setting::kCmArpRetries)) return resolve_address();
    if (manager_.devices.explain_unreachable) return report(cm::Outcome::kUnreachable);
    not_made(cm::Outcome::kUnreachable, to_text(event));
}

void ActiveConnection::not_made(cm::Outcome outcome, const std::string& cause,
                                cm::PrivateData data) {
    const cm::FailedTry failed{
        manager_.adapter().address,        peer_, progress().step, cause, tries_,
        cm::Timer::Clock::now() - started_};
    if (outcome == cm::Outcome::kUnreachable)
        cm::tell_unreachable(failed);
    else
        cm::tell_refused(failed);
    report(outcome, data);
}

}  // namespace dapl::cma
