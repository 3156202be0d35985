// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "dapl/address.hpp"
#include "dapl/cm/failure.hpp"
#include "dapl/support/log.hpp"
#include "dapl/support/settings.hpp"
#include "providers/cma/device.hpp"
#include "providers/cma/event.hpp"

namespace dapl::cma {
namespace {

/// Both mean "for ever" on InfiniBand: a message that finds no receive posted waits for one.
constexpr std::uint8_t kRetries = 7;
constexpr std::uint8_t kReceiverNotReadyRetries = 7;

void set_type_of_service(rdma_cm_id* id) {
    auto tos = static_cast<std::uint8_t>(setting_integer(support::Setting::kCmTypeOfService));
    if (tos == 0) return;
    if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos) != 0)
        support::trace(support::Level::kWarning, "type of service {} is refused: {}", tos,
                       std::generic_category().message(errno));
}

}  // namespace

Connection::Connection(const Manager& manager, const cm::Parameters& parameters, cm::User& user)
    : manager_(manager),
      user_(&user),
      qp_(parameters.qp),
      responder_resources_(parameters.responder_resources),
      initiator_depth_(parameters.initiator_depth),
      given_size_(std::min(parameters.private_data.size(), kLargestGiven)),
      address_retries_(setting_integer(support::Setting::kCmArpRetries)),
      route_retries_(setting_integer(support::Setting::kCmRouteRetries)) {
    std::copy_n(parameters.private_data.begin(), given_size_, given_.begin());
}

Connection::Connection(const Manager& manager, const Event& request)
    : manager_(manager),
      responder_resources_(request.responder_resources),
      initiator_depth_(request.initiator_depth),
      id_(request.id) {
    id_->context = static_cast<EventTarget*>(this);
}

support::Result<void> Connection::start(const sockaddr* peer, std::uint16_t port) {
    sockaddr_in in{};
    std::memcpy(&in, peer, sizeof in);
    in.sin_family = AF_INET;  // some callers leave it unset
    in.sin_port = htons(port);
    std::memcpy(&peer_, &in, sizeof in);
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(manager_.channel(), &id, static_cast<EventTarget*>(this), RDMA_PS_TCP) != 0)
        return cm::system_failure(errno, "rdma_create_id");
    id_.reset(id);
    set_type_of_service(id);
    resolve_address();
    return {};
}

void Connection::resolve_address() {
    sockaddr_storage own = manager_.adapter().address;
    const auto timeout = setting_integer(support::Setting::kCmArpTimeout);
    if (rdma_resolve_addr(id_.get(), reinterpret_cast<sockaddr*>(&own),
                          reinterpret_cast<sockaddr*>(&peer_), static_cast<int>(timeout)) != 0)
        unreachable("finding the address", errno);
}

void Connection::resolve_route() {
    const auto timeout = setting_integer(support::Setting::kCmRouteTimeout);
    if (rdma_resolve_route(id_.get(), static_cast<int>(timeout)) != 0)
        unreachable("finding the route", errno);
}

rdma_conn_param Connection::parameters() const {
    rdma_conn_param result{};
    result.private_data = given_.data();
    result.private_data_len = static_cast<std::uint8_t>(given_size_);
    result.responder_resources = responder_resources_;
    result.initiator_depth = initiator_depth_;
    result.flow_control = 1;
    result.retry_count = kRetries;
    result.rnr_retry_count = kReceiverNotReadyRetries;
    return result;
}

void Connection::request_connection() {
    id_->qp = qp_;
    rdma_conn_param connection = parameters();
    if (rdma_connect(id_.get(), &connection) == 0) return;
    const int error = errno;
    support::trace(support::Level::kDebug, "rdma_connect: {}",
                   std::generic_category().message(error));
    // iWARP says so at once when nobody listens there.
    report(error == ECONNREFUSED ? cm::Outcome::kNonPeerRejected : cm::Outcome::kLocalFailure);
}

support::Result<void> Connection::accept(const cm::Parameters& parameters, cm::User& user) {
    if (id_->verbs != parameters.qp->context || id_->port_num != manager_.adapter().port)
        return support::failure(raw(DAT_INTERNAL_ERROR),
                                "the request came in on another device or port than the EP's");
    user_ = &user;
    qp_ = parameters.qp;
    // What the peer asked for bounds what this side need provide.
    responder_resources_ = std::min(responder_resources_, parameters.responder_resources);
    initiator_depth_ = std::min(initiator_depth_, parameters.initiator_depth);
    given_size_ = std::min(parameters.private_data.size(), kLargestGiven);
    std::copy_n(parameters.private_data.begin(), given_size_, given_.begin());
    if (peer_gone_) {
        report(cm::Outcome::kDisconnected);
        return {};
    }
    id_->qp = qp_;
    rdma_conn_param connection = this->parameters();
    if (rdma_accept(id_.get(), &connection) != 0) {
        support::trace(support::Level::kDebug, "rdma_accept: {}",
                       std::generic_category().message(errno));
        report(cm::Outcome::kLocalFailure);
    }
    return {};
}

void Connection::reject(cm::PrivateData data) {
    std::array<std::byte, kLargestGiven> message{};
    const std::size_t size = std::min(data.size(), message.size() - kRejectHeader.size());
    std::copy(kRejectHeader.begin(), kRejectHeader.end(), message.begin());
    std::copy_n(data.begin(), size, message.begin() + kRejectHeader.size());
    if (rdma_reject(id_.get(), message.data(),
                    static_cast<std::uint8_t>(size + kRejectHeader.size())) != 0)
        support::trace(support::Level::kDebug, "rdma_reject: {}",
                       std::generic_category().message(errno));
}

void Connection::disconnect() {
    rdma_disconnect(id_.get());
}

sockaddr_storage Connection::peer_address() const {
    sockaddr_storage result{};
    const sockaddr* peer = rdma_get_peer_addr(id_.get());
    const std::size_t size =
        peer->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    std::memcpy(&result, peer, size);
    return result;
}

std::uint16_t Connection::local_port() const {
    return ntohs(rdma_get_src_port(id_.get()));
}
std::uint16_t Connection::remote_port() const {
    return ntohs(rdma_get_dst_port(id_.get()));
}

bool Connection::may_retry(int error, long& retries) {
    return error == ETIMEDOUT && retries-- > 0;
}

void Connection::unreachable(const char* step, int error) {
    if (!kDeviceExplainsUnreachable)
        support::report<support::kPeerUnreachable>(to_text(peer_),
                                                   to_text(manager_.adapter().address), step,
                                                   std::generic_category().message(error));
    report(cm::Outcome::kUnreachable);
}

void Connection::rejected(const Event& event) {
    support::trace(support::Level::kDebug, "connection to {} rejected, reason {}", to_text(peer_),
                   event.status);
    if (!event.data.has_reject_header()) {
        report(cm::Outcome::kNonPeerRejected, event.data.all());
        return;
    }
    report(
        cm::Outcome::kPeerRejected,
        event.data.behind_reject_header(manager_.is_infiniband() ? kInfiniBandFields.reject : 0));
}

void Connection::report(cm::Outcome outcome, cm::PrivateData data) {
    if (user_)
        user_->report(outcome, data);
    else if (outcome != cm::Outcome::kEstablished)
        peer_gone_ = true;
}

void Connection::handle(const Event& event) {
    switch (event.type) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            return resolve_route();
        case RDMA_CM_EVENT_ADDR_ERROR:
            if (may_retry(-event.status, address_retries_)) return resolve_address();
            return unreachable("finding the address", -event.status);
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
            return request_connection();
        case RDMA_CM_EVENT_ROUTE_ERROR:
            if (may_retry(-event.status, route_retries_)) return resolve_route();
            return unreachable("finding the route", -event.status);
        case RDMA_CM_EVENT_ESTABLISHED:
            return report(cm::Outcome::kEstablished, event.data.all());
        case RDMA_CM_EVENT_REJECTED:
            return rejected(event);
        case RDMA_CM_EVENT_UNREACHABLE:
        case RDMA_CM_EVENT_CONNECT_ERROR:
            support::trace(support::Level::kDebug, "{}: status {}", rdma_event_str(event.type),
                           event.status);
            return report(cm::Outcome::kUnreachable);
        case RDMA_CM_EVENT_DISCONNECTED:
            rdma_disconnect(id_.get());  // the answer that the peer waits for
            return report(cm::Outcome::kDisconnected);
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            return report(cm::Outcome::kLocalFailure);
        default:
            return;  // TIMEWAIT_EXIT and the like change nothing for the EP
    }
}

support::Result<void> Listener::start(std::uint16_t port) {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(manager_.channel(), &id, static_cast<EventTarget*>(this), RDMA_PS_TCP) != 0)
        return cm::system_failure(errno, "rdma_create_id");
    id_.reset(id);
    sockaddr_in address{};
    std::memcpy(&address, &manager_.adapter().address, sizeof address);
    address.sin_port = htons(port);
    if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) != 0)
        return cm::system_failure(errno, "rdma_bind_addr");
    if (rdma_listen(id, 0) != 0) return cm::system_failure(errno, "rdma_listen");
    return {};
}

void Listener::handle(const Event& event) {
    if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) return;
    user_.request(std::make_unique<Connection>(manager_, event), event.data.all());
}

}  // namespace dapl::cma
