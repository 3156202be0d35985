// SPDX-License-Identifier: BSD-2-Clause
#include "providers/scm/dialled.hpp"

#include <cerrno>
#include <cstring>

#include "dapl/adapter/refusal.hpp"
#include "dapl/cm/failure.hpp"
#include "device/address.hpp"
#include "providers/scm/manager.hpp"
#include "support/log/log.hpp"

namespace dapl::scm {

using sockets::Link;
using sockets::Shape;
using sockets::UniqueFd;

namespace {

constexpr const char* kConnecting = "connecting";
constexpr int kTries = 5;
/// Doubled after each try. It is short because a listener that is about to be created, or
/// recreated, is there soon.
constexpr std::chrono::milliseconds kFirstPause{10};

/// Whether the system has connected a socket to itself.
bool is_same_end(const sockaddr_storage& one, const sockaddr_storage& other) {
    return same_host(one, other) && dapl::port_of(one) == dapl::port_of(other);
}

bool is_worth_another_try(int error) {
    return error == ETIMEDOUT || error == ECONNREFUSED;
}

bool is_about_the_peer(int error) {
    return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN ||
           error == EADDRNOTAVAIL || error == EINVAL || error == EACCES || error == EPERM;
}

}  // namespace

DialledConnection::DialledConnection(Manager& manager, const sockaddr_in& peer,
                                     const cm::Parameters& parameters, cm::User& user)
    : ActiveConnection(manager.host(), Link(manager.loop), ip_address(peer), parameters, user),
      manager_(manager) {}

support::Result<void> DialledConnection::start() {
    if (auto found = find_own_end(); !found) return found;
    const int error = try_once();
    if (error == 0) return {};
    if (is_worth_another_try(error)) {
        not_connected(error);
        return {};
    }
    if (!is_about_the_peer(error)) return refused_by_system(error, "a connection");
    cm::tell_unreachable(failed_try(error));
    return support::failure(raw(DAT_INVALID_ADDRESS), cm::text_of_error(error));
}

int DialledConnection::try_once() {
    ++tries_;
    UniqueFd socket = sockets::make_socket();
    if (!socket.valid()) return errno;
    sockets::send_at_once(socket);
    if (const int error = manager_.bind_outgoing(socket.get())) return error;
    state_ = State::kOpening;
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer_), sizeof(sockaddr_in)) !=
            0 &&
        errno != EINPROGRESS)
        return errno;
    link_.open(std::move(socket));
    return link_.watch(*this, cm::Interest::kReadWrite) ? 0 : ENOMEM;
}

void DialledConnection::go_on() {
    if (state_ == State::kHandshake) return read_reply();
    if (const int error = link_.connect_result()) return not_connected(error);
    // If nobody listens there, the system may have chosen that very port for this end.
    if (is_same_end(link_.own_address(), peer_)) return not_connected(ECONNREFUSED);
    send_request(shape_);
}

bool DialledConnection::try_later() {
    link_.close();
    state_ = State::kOpening;
    if (tries_ >= kTries) return false;
    wait(kFirstPause * (1 << (tries_ - 1)));
    return true;
}

void DialledConnection::waited() {
    if (const int error = try_once()) not_connected(error);
}

void DialledConnection::not_connected(int error) {
    support::trace(support::Level::kDebug, "try {} to connect to {}: {}", tries_, to_text(peer_),
                   cm::text_of_error(error));
    if (is_worth_another_try(error) && try_later()) return;
    if (error == ECONNREFUSED) {
        cm::tell_refused(failed_try(error));
        return ended(cm::Outcome::kNonPeerRejected);
    }
    cm::tell_unreachable(failed_try(error));
    ended(cm::Outcome::kUnreachable);
}

cm::Progress DialledConnection::progress() const {
    return {state_ == State::kOpening ? kConnecting : "waiting for the peer's answer", tries_};
}

cm::FailedTry DialledConnection::failed_try(int error) const {
    return {manager_.adapter().address, peer_,  kConnecting,
            cm::text_of_error(error),   tries_, cm::Timer::Clock::now() - started_};
}

void DialledConnection::not_answered(const std::string& cause) {
    support::trace(support::Level::kDebug,
                   "try {} to connect to {}, after {} bytes of an answer: {}", tries_,
                   to_text(peer_), answer_size(), cause);
    shape_ = ++tries_without_answer_ == 1 ? Shape::kOld : Shape::kCurrent;
    if (try_later()) return;
    support::report<support::kPeerHangsUp>(to_text(peer_), tries_, cause);
    ended(cm::Outcome::kLocalFailure);
}

}  // namespace dapl::scm
