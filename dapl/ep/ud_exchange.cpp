// SPDX-License-Identifier: BSD-2-Clause
#include "dapl/ep/ud_exchange.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "dapl/adapter/ia.hpp"
#include "dapl/cm/failed_try.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/ud_endpoint.hpp"
#include "dapl/evd/events.hpp"
#include "device/address.hpp"
#include "support/log/log.hpp"

namespace dapl {
namespace {

DAT_IB_EXTENSION_EVENT_DATA blank(DAT_IB_EXT_TYPE type, DAT_IB_STATUS status) {
    DAT_IB_EXTENSION_EVENT_DATA extension;
    std::memset(&extension, 0, sizeof extension);
    extension.type = type;
    extension.status = status;
    return extension;
}

}  // namespace

UdExchange::~UdExchange() {
    ep_.ia.manager->loop.cancel(*this);
}

DAT_RETURN UdExchange::connect(const sockaddr_storage& peer, DAT_CONN_QUAL conn_qual,
                               DAT_TIMEOUT timeout, cm::PrivateData data) {
    active_ = true;
    timeout_ = timeout;
    begun_ = Clock::now();
    peer_ = peer;
    auto started = ep_.ia.manager->connect(reinterpret_cast<const sockaddr*>(&peer), conn_qual,
                                           {ep_.queue_pair(), 0, 0, data}, *this);
    if (!started) {
        support::trace(support::Level::kDebug, "{} cannot request an address: {}", ep_.name(),
                       started.error().cause);
        return started.error().code;
    }
    cm_ = std::move(*started);
    ep_.ia.counters.count(DCNT_IA_CM_AH_REQ_TX);
    if (!is_over_ && timeout != DAT_TIMEOUT_INFINITE)
        ep_.ia.manager->loop.arm(*this, begun_ + std::chrono::microseconds(timeout));
    return DAT_SUCCESS;
}

DAT_RETURN UdExchange::accept(std::unique_ptr<cm::Connection>& request, cm::PrivateData asked,
                              cm::PrivateData data) {
    keep(asked);
    peer_ = request->peer_address();
    const auto accepted = request->accept({ep_.queue_pair(), 0, 0, data}, *this);
    if (!accepted) {
        support::trace(support::Level::kDebug, "{} cannot accept: {}", ep_.name(),
                       accepted.error().cause);
        return accepted.error().code;
    }
    cm_ = std::move(request);  // the answer's outcome is reported at once
    cm_->answer();
    return DAT_SUCCESS;
}

void UdExchange::report(cm::Outcome outcome, cm::PrivateData data) {
    if (is_over_) return;
    if (active_) keep(data);
    if (outcome != cm::Outcome::kEstablished) count_failure(ep_.ia.counters, outcome);
    switch (outcome) {
        case cm::Outcome::kEstablished:
            return established();
        case cm::Outcome::kPeerRejected:
        case cm::Outcome::kNonPeerRejected:
            return refused(DAT_IB_UD_CONNECTION_REJECT_EVENT, DAT_IB_UD_CONNECT_REJECT);
        default:
            return refused(DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR);
    }
}

void UdExchange::established() {
    cm::DatagramAddress address = cm_->datagram_address();
    ibv_ah* handle = ep_.ud->add_address(address.way);
    if (!handle) {
        support::report<support::kNoAddressHandle>(to_text(peer_), address.qpn,
                                                   std::generic_category().message(errno));
        return refused(DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR);
    }
    auto extension =
        blank(active_ ? DAT_IB_UD_REMOTE_AH : DAT_IB_UD_PASSIVE_REMOTE_AH, DAT_OP_SUCCESS);
    ep_.ia.counters.count(DCNT_IA_CM_AH_RESOLVED);
    extension.remote_ah.ah = handle;
    extension.remote_ah.qpn = address.qpn;
    std::memcpy(&extension.remote_ah.ia_addr, &peer_, sizeof extension.remote_ah.ia_addr);
    finish(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, extension);
}

void UdExchange::refused(DAT_IB_EVENT_NUMBER number, DAT_IB_EXT_TYPE type) {
    finish(number, blank(type, DAT_IB_OP_ERR));
}

void UdExchange::keep(cm::PrivateData data) {
    private_data_size_ = std::min(data.size(), private_data_.size());
    private_data_.fill(std::byte{0});
    std::copy_n(data.begin(), private_data_size_, private_data_.begin());
}

void UdExchange::finish(DAT_IB_EVENT_NUMBER number, const DAT_IB_EXTENSION_EVENT_DATA& extension) {
    is_over_ = true;
    // cm_ is destroyed on the event thread, in expired(): this may be called from a report of it.
    ep_.ia.manager->loop.arm(*this, Clock::now());
    support::trace(support::Level::kDebug, "{} event {:x}, type {}, {} bytes of private data",
                   ep_.name(), static_cast<unsigned>(number), static_cast<int>(extension.type),
                   private_data_size_);
    DAT_IB_EXTENSION_EVENT_DATA numbered = extension;
    numbered.context.as_64 = number_;
    post_datagram_event(*ep_.parts.connect_evd, number, ep_.handle(),
                        static_cast<DAT_COUNT>(private_data_size_), private_data_.data(), numbered);
}

void UdExchange::expired() {
    if (!is_over_) {
        ep_.ia.counters.count(DCNT_IA_CM_ERR_TIMEOUT);
        const cm::Progress progress = cm_->progress();
        cm::tell_timed_out({ep_.ia.adapter().address, peer_, progress.step,
                            std::to_string(timeout_) + " us were allowed", progress.tries,
                            Clock::now() - begun_});
        refused(DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR);
    }
    cm_.reset();
}

}  // namespace dapl
