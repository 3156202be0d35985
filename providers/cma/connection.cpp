// SPDX-License-Identifier: BSD-2-Clause
#include "providers/cma/connection.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "dapl/address.hpp"
#include "dapl/cm/failed_try.hpp"
#include "dapl/cm/failure.hpp"
#include "dapl/cm/traced_message.hpp"
#include "dapl/support/log.hpp"
#include "dapl/support/settings.hpp"
#include "providers/cma/device.hpp"
#include "providers/cma/event.hpp"
#include "providers/cma/queue_pair.hpp"

namespace dapl::cma {
namespace {

/// "For ever" on InfiniBand: a message that finds no receive posted waits for one.
constexpr std::uint8_t kReceiverNotReadyRetries = 7;

std::string text_of_error(int error) {
    return std::generic_category().message(error);
}

/// @return " (WHAT IT MEANS)", nothing for a number that the specification does not have.
std::string reject_reason(int number) {
    switch (number) {
#define REJECT_REASON(reason, name, meaning, next_step) \
    case reason:                                        \
        return " (" meaning ")";
#include "dapl/support/reject_reasons.def"
#undef REJECT_REASON
        default:
            return {};
    }
}

/// What the event says: kernel and device put an errno or, in a rejection, the peer's reason there.
std::string text_of(const Event& event) {
    const std::string name = rdma_event_str(event.type);
    if (event.status < 0) return name + ", " + text_of_error(-event.status);
    return name + ", reason " + std::to_string(event.status) + reject_reason(event.status);
}

void set_type_of_service(rdma_cm_id* id, std::string_view ia_name) {
    auto tos =
        static_cast<std::uint8_t>(setting_integer(support::Setting::kCmTypeOfService, ia_name));
    if (tos == 0) return;
    if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos) != 0)
        support::trace(support::Level::kWarning, "type of service {} is refused: {}", tos,
                       text_of_error(errno));
}

/// @param address AF_INET or AF_INET6.
sockaddr_storage stored(const sockaddr* address) {
    sockaddr_storage result{};
    std::memcpy(&result, address,
                address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    return result;
}

/// Where every queue pair of the software device is.
ibv_ah_attr own_way(ibv_context* context, std::uint8_t port) {
    ibv_port_attr attributes{};
    ibv_query_port(context, port, &attributes);
    ibv_ah_attr way{};
    way.dlid = attributes.lid;
    way.port_num = port;
    return way;
}

/// A link-local peer whose interface the consumer has left out can only be on the IA's own.
void lend_scope(sockaddr_storage& peer, const sockaddr_storage& own) {
    if (peer.ss_family != AF_INET6 || own.ss_family != AF_INET6) return;
    auto& to = reinterpret_cast<sockaddr_in6&>(peer);
    const auto& from = reinterpret_cast<const sockaddr_in6&>(own);
    if (IN6_IS_ADDR_LINKLOCAL(&to.sin6_addr) && to.sin6_scope_id == 0)
        to.sin6_scope_id = from.sin6_scope_id;
}

}  // namespace

Connection::Connection(const Manager& manager, const cm::Parameters& parameters, cm::User& user)
    : manager_(manager),
      user_(&user),
      active_(true),
      is_datagram_(parameters.qp->qp_type == IBV_QPT_UD),
      qp_(parameters.qp),
      responder_resources_(parameters.responder_resources),
      initiator_depth_(parameters.initiator_depth),
      given_size_(std::min(parameters.private_data.size(), kLargestGiven)) {
    std::copy_n(parameters.private_data.begin(), given_size_, given_.begin());
}

Connection::Connection(const Manager& manager, const Event& request,
                       const std::optional<DatagramMessage>& asking)
    : manager_(manager),
      active_(false),
      is_datagram_(asking.has_value()),
      responder_resources_(request.responder_resources),
      initiator_depth_(request.initiator_depth),
      peer_(stored(rdma_get_peer_addr(request.id))),
      id_(request.id) {
    id_->context = static_cast<EventTarget*>(this);
    if (asking) datagram_address_ = {own_way(id_->verbs, id_->port_num), asking->qpn};
}

support::Result<void> Connection::start(const sockaddr* peer, std::uint16_t port) {
    peer_ = stored(peer);
    set_port(peer_, port);
    lend_scope(peer_, manager_.adapter().address);
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(manager_.channel(), &id, static_cast<EventTarget*>(this),
                       is_datagram_ ? RDMA_PS_UDP : RDMA_PS_TCP) != 0)
        return cm::system_failure(errno, "rdma_create_id");
    id_.reset(id);
    set_type_of_service(id, manager_.ia_name);
    begin(Step::kAddress);
    return {};
}

void Connection::begin(Step step) {
    step_ = step;
    tries_ = 1;
    switch (step) {
        case Step::kAddress:
            return resolve_address();
        case Step::kRoute:
            return resolve_route();
        case Step::kAnswer:
            return request_connection();
        default:
            return;
    }
}

cm::Progress Connection::progress() const {
    switch (step_) {
        case Step::kAddress:
            return {"finding the address", tries_};
        case Step::kRoute:
            return {"finding the route", tries_};
        default:
            return {"waiting for the peer's answer", tries_};
    }
}

void Connection::resolve_address() {
    sockaddr_storage own = manager_.adapter().address;
    if (own.ss_family != peer_.ss_family)
        return unreachable("one of the two is an IPv4 address, the other an IPv6 address");
    const auto timeout = setting_integer(support::Setting::kCmArpTimeout, manager_.ia_name);
    if (rdma_resolve_addr(id_.get(), reinterpret_cast<sockaddr*>(&own),
                          reinterpret_cast<sockaddr*>(&peer_), static_cast<int>(timeout)) != 0)
        unreachable("rdma_resolve_addr: " + text_of_error(errno));
}

void Connection::resolve_route() {
    const auto timeout = setting_integer(support::Setting::kCmRouteTimeout, manager_.ia_name);
    if (rdma_resolve_route(id_.get(), static_cast<int>(timeout)) != 0)
        unreachable("rdma_resolve_route: " + text_of_error(errno));
}

rdma_conn_param Connection::parameters() const {
    rdma_conn_param result{};
    result.private_data = given_.data();
    result.private_data_len = static_cast<std::uint8_t>(given_size_);
    result.responder_resources = responder_resources_;
    result.initiator_depth = initiator_depth_;
    result.flow_control = 1;
    result.retry_count =
        static_cast<std::uint8_t>(setting_integer(support::Setting::kAckRetries, manager_.ia_name));
    result.rnr_retry_count = kReceiverNotReadyRetries;
    if (!qp_) return result;  // a step that a request, not yet accepted, is not to be told of
    result.qp_num = qp_->qp_num;
    result.srq = qp_->srq != nullptr;
    return result;
}

void Connection::lend_queue_pair() {
    if (!manager_.is_infiniband()) id_->qp = qp_;
}

void Connection::request_connection() {
    lend_queue_pair();
    rdma_conn_param connection = parameters();
    trace_sent(*this, user_, cm::message::kRequest, given_size_);
    if (is_datagram_) {
        id_->qp = nullptr;  // it is ready, and not rdma_cm's to move
        const DatagramBytes message =
            encode({DatagramMessage::Kind::kRequest, qp_->qp_num, given()});
        connection.private_data = message.data();
        connection.private_data_len = static_cast<std::uint8_t>(message.size());
        return requested(rdma_connect(id_.get(), &connection) == 0 ? 0 : errno);
    }
    if (manager_.is_infiniband())
        return requested(rdma_connect(id_.get(), &connection) == 0 ? 0 : errno);
    connecting_ = std::make_unique<ConnectThread>(
        manager_.loop, id_.get(), connection,
        [this](int error) REQUIRES(connection_lock) { requested(error); });
    if (const int error = connecting_->start()) requested(error);
}

void Connection::requested(int error) {
    if (error == 0) return;
    const std::string answer = "rdma_connect: " + text_of_error(error);
    support::trace(support::Level::kDebug, "{}", answer);
    if (error == ECONNREFUSED) return refused(answer, {});
    if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH)
        return unreachable(answer);
    report(cm::Outcome::kLocalFailure);
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
    trace_sent(*this, user_, cm::message::kAccept, given_size_);
    if (is_datagram_) {
        accept_datagrams();
        return {};
    }
    lend_queue_pair();
    if (const int error = answer_request()) {
        support::trace(support::Level::kDebug, "rdma_accept: {}", text_of_error(error));
        report(cm::Outcome::kLocalFailure);
    }
    return {};
}

int Connection::answer_datagrams(DatagramMessage::Kind kind, cm::PrivateData data) {
    const std::uint32_t qpn = qp_ ? qp_->qp_num : 0;
    const DatagramBytes message = encode({kind, qpn, data});
    rdma_conn_param answer{};
    answer.private_data = message.data();
    answer.private_data_len = static_cast<std::uint8_t>(message.size());
    answer.qp_num = qpn;
    return rdma_accept(id_.get(), &answer) == 0 ? 0 : errno;
}

/// Who answers hears no more: this end knows all that it will.
void Connection::accept_datagrams() {
    if (const int error = answer_datagrams(DatagramMessage::Kind::kAccept, given())) {
        support::trace(support::Level::kDebug, "rdma_accept: {}", text_of_error(error));
        return report(cm::Outcome::kLocalFailure);
    }
    report(cm::Outcome::kEstablished);
}

/// rdma_cm's own way to refuse carries no data: a consumer's rejection is an answer that says so.
void Connection::datagrams_answered(const Event& event) {
    const auto answer = decode(event.data.given());
    if (!answer || answer->kind == DatagramMessage::Kind::kRequest || event.qkey != kDatagramKey)
        return unreachable("the answer is no datagram endpoint's of ours");
    if (answer->kind == DatagramMessage::Kind::kReject)
        return report(cm::Outcome::kPeerRejected, answer->data);
    datagram_address_ = {event.way, answer->qpn};
    report(cm::Outcome::kEstablished, answer->data);
}

int Connection::answer_request() {
    if (manager_.is_infiniband())
        if (const int error = make_ready(id_.get(), {qp_,
                                                     manager_.keeps_first_partition(),
                                                     {{responder_resources_, initiator_depth_}}}))
            return error;
    rdma_conn_param connection = parameters();
    return rdma_accept(id_.get(), &connection) == 0 ? 0 : errno;
}

/// The peer has accepted.
void Connection::answered(const Event& event) {
    rdma_cm_id* const id = id_.get();
    const QueuePairMove move{qp_, manager_.keeps_first_partition(), std::nullopt};
    int error = 0;
    const bool goes_on = moving_.run([&] {
        error = make_ready(id, move);
        if (error == 0 && rdma_establish(id) != 0) error = errno;
    });
    if (!goes_on) return;
    if (error == 0) return report(cm::Outcome::kEstablished, event.data.all());
    rdma_reject(id, nullptr, 0);
    unreachable("the queue pair's way to the peer: " + text_of_error(error));
}

void Connection::reject(cm::PrivateData data) {
    if (is_datagram_) {
        if (const int error = answer_datagrams(DatagramMessage::Kind::kReject, data))
            support::trace(support::Level::kDebug, "rdma_accept: {}", text_of_error(error));
        return;
    }
    std::array<std::byte, kLargestGiven> message{};
    const std::size_t size = std::min(data.size(), message.size() - kRejectHeader.size());
    std::copy(kRejectHeader.begin(), kRejectHeader.end(), message.begin());
    std::copy_n(data.begin(), size, message.begin() + kRejectHeader.size());
    trace_sent(*this, user_, cm::message::kReject, size);
    if (rdma_reject(id_.get(), message.data(),
                    static_cast<std::uint8_t>(size + kRejectHeader.size())) != 0)
        support::trace(support::Level::kDebug, "rdma_reject: {}", text_of_error(errno));
}

void Connection::disconnect() {
    if (is_datagram_) return;
    connecting_.reset();  // the kernel would let us wait for it
    moving_.overtake();
    if (qp_ && !id_->qp) set_error_state(qp_);
    trace_sent(*this, user_, cm::message::kDisconnect);
    rdma_disconnect(id_.get());
}

std::uint16_t Connection::local_port() const {
    return ntohs(rdma_get_src_port(id_.get()));
}
std::uint16_t Connection::remote_port() const {
    return ntohs(rdma_get_dst_port(id_.get()));
}

bool Connection::may_retry(const Event& event, support::Setting most) {
    if (event.status != -ETIMEDOUT || tries_ >= setting_integer(most, manager_.ia_name))
        return false;
    ++tries_;
    return true;
}

cm::FailedTry Connection::failed_try(const std::string& answer) const {
    return {manager_.adapter().address,      peer_, progress().step, answer, tries_,
            cm::Timer::Clock::now() - begun_};
}

void Connection::address_error(const Event& event) {
    if (may_retry(event, support::Setting::kCmArpRetries)) return resolve_address();
    if (kDeviceExplainsUnreachable) return report(cm::Outcome::kUnreachable);
    unreachable(text_of(event));
}

void Connection::unreachable(const std::string& answer) {
    if (active_) cm::tell_unreachable(failed_try(answer));
    report(cm::Outcome::kUnreachable);
}

void Connection::refused(const std::string& answer, cm::PrivateData data) {
    if (active_) cm::tell_refused(failed_try(answer));
    report(cm::Outcome::kNonPeerRejected, data);
}

void Connection::rejected(const Event& event) {
    support::trace(support::Level::kDebug, "connection with {}: {}", to_text(peer_),
                   text_of(event));
    // The kernel rejects for a peer that ended before it heard that its answer had come.
    if (step_ == Step::kEstablished) return report(cm::Outcome::kDisconnected);
    if (step_ == Step::kEnded) return;
    if (!event.data.has_reject_header()) return refused(text_of(event), event.data.all());
    report(
        cm::Outcome::kPeerRejected,
        event.data.behind_reject_header(manager_.is_infiniband() ? kInfiniBandFields.reject : 0));
}

void Connection::report(cm::Outcome outcome, cm::PrivateData data) {
    step_ = outcome == cm::Outcome::kEstablished ? Step::kEstablished : Step::kEnded;
    if (user_)
        user_->report(outcome, data);
    else if (outcome != cm::Outcome::kEstablished)
        peer_gone_ = true;
}

const char* Connection::message_of(rdma_cm_event_type type) const {
    switch (type) {
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
            return active_ && !is_datagram_ ? cm::message::kAccept : nullptr;
        case RDMA_CM_EVENT_ESTABLISHED:
            return active_ ? cm::message::kAccept : cm::message::kConfirm;
        case RDMA_CM_EVENT_REJECTED:
            return cm::message::kReject;
        case RDMA_CM_EVENT_DISCONNECTED:
            return cm::message::kDisconnect;
        default:
            return nullptr;
    }
}

void Connection::handle(const Event& event) {
    if (const char* message = message_of(event.type))
        trace_received(*this, user_, message, event.data.all().size());
    switch (event.type) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            return begin(Step::kRoute);
        case RDMA_CM_EVENT_ADDR_ERROR:
            return address_error(event);
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
            return begin(Step::kAnswer);
        case RDMA_CM_EVENT_ROUTE_ERROR:
            if (may_retry(event, support::Setting::kCmRouteRetries)) return resolve_route();
            return unreachable(text_of(event));
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
            if (active_ && !is_datagram_) answered(event);
            return;
        case RDMA_CM_EVENT_ESTABLISHED:
            if (is_datagram_) return datagrams_answered(event);
            return report(cm::Outcome::kEstablished, event.data.all());
        case RDMA_CM_EVENT_REJECTED:
            return rejected(event);
        case RDMA_CM_EVENT_UNREACHABLE:
        case RDMA_CM_EVENT_CONNECT_ERROR:
            // Of datagrams a positive status is the peer's own answer.
            if (is_datagram_ && event.status > 0) return refused(text_of(event), {});
            return unreachable(text_of(event));
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
    auto id = listen(RDMA_PS_TCP, port);
    if (!id) return tl::unexpected(id.error());
    id_ = std::move(*id);
    if (!manager_.datagrams()) return {};
    auto datagram_id = listen(RDMA_PS_UDP, port);
    if (!datagram_id) return tl::unexpected(datagram_id.error());
    datagram_id_ = std::move(*datagram_id);
    return {};
}

support::Result<Id> Listener::listen(rdma_port_space space, std::uint16_t port) {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(manager_.channel(), &id, static_cast<EventTarget*>(this), space) != 0)
        return cm::system_failure(errno, "rdma_create_id");
    Id owner(id);
    sockaddr_storage address = manager_.adapter().address;
    set_port(address, port);
    if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) != 0)
        return cm::system_failure(errno, "rdma_bind_addr");
    if (rdma_listen(id, 0) != 0) return cm::system_failure(errno, "rdma_listen");
    return owner;
}

void Listener::handle(const Event& event) {
    if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) return;
    if (event.id->ps == RDMA_PS_UDP) {
        const auto asking = decode(event.data.given());
        if (!asking || asking->kind != DatagramMessage::Kind::kRequest) {
            const Id sent_away(event.id);
            support::trace(support::Level::kDebug,
                           "a request to resolve qualifier {} is no datagram endpoint's of ours",
                           ntohs(rdma_get_src_port(datagram_id_.get())));
            return;
        }
        auto connection = std::make_unique<Connection>(manager_, event, asking);
        trace_received(*connection, nullptr, cm::message::kRequest, asking->data.size());
        user_.request(std::move(connection), asking->data);
        return;
    }
    auto connection = std::make_unique<Connection>(manager_, event);
    trace_received(*connection, nullptr, cm::message::kRequest, event.data.all().size());
    user_.request(std::move(connection), event.data.all());
}

}  // namespace dapl::cma
