// SPDX-License-Identifier: BSD-2-Clause
#include "providers/sockets/arrival.hpp"

#include "providers/sockets/bad_peer.hpp"
#include "providers/sockets/passive.hpp"

namespace dapl::sockets {

Arrival::Arrival(Host& host, Owner& owner, Link link, const sockaddr_storage& peer)
    : host_(host), owner_(owner), link_(std::move(link)), peer_(peer) {}

Arrival::~Arrival() {
    host_.arrivals.leave(*this);
}

void Arrival::start() {
    host_.arrivals.enter(*this);
    ready();
}

support::Result<void> Arrival::watch() {
    return link_.watch(*this, cm::Interest::kRead);
}

void Arrival::ready() {
    const auto [state, cause] = link_.read(request_);
    switch (state) {
        case Link::State::kMore:
            if (!link_.is_watched() && !link_.watch(*this, cm::Interest::kRead)) drop("");
            return;
        case Link::State::kComplete:
            return complete();
        case Link::State::kRefused:
            return drop("its request has " + cause);
        case Link::State::kClosed:
            return drop(request_.size() == 0 ? "" : progress() + cause);
    }
}

void Arrival::expelled(const std::string& why) {
    drop(progress() + why);
}

void Arrival::complete() {
    const bool has_datagrams =
        host_.adapter.context->device->transport_type != IBV_TRANSPORT_IWARP &&
        !link_.is_programs();
    if (request().sender.qp_type != IBV_QPT_UD || has_datagrams) return owner_.arrived(*this);
    link_.send(encode_reject(request_.bytes(), request_.shape(), Operation::kManagerReject, {}));
    link_.settle();
    drop("it requests a datagram endpoint, which is not served here");
}

std::unique_ptr<PassiveConnection> Arrival::take_request() {
    return std::make_unique<PassiveConnection>(host_, std::move(link_), peer_, request_);
}

void Arrival::drop(const std::string& why) {
    if (!why.empty()) tell_bad_peer(peer_, why);
    owner_.dropped(*this);
}

std::string Arrival::progress() const {
    return "after " + std::to_string(request_.size()) + " bytes of a request, ";
}

}  // namespace dapl::sockets
