// SPDX-License-Identifier: BSD-2-Clause
#include "providers/exchange/side.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "device/address.hpp"
#include "support/log/log.hpp"

namespace dapl::exchange {

void Side::fill(Message& message, Operation operation, const OwnEnd& own, std::uint8_t mtu) const {
    message.operation = operation;
    message.read_limit = own_.responder_resources;
    message.mtu = mtu;
    message.sender.lid = own.lid;
    message.sender.qpn = own_.qp->qp_num;
    std::memcpy(message.sender.gid.data(), &own.gid.gid, message.sender.gid.size());
    message.sender.qp_type = own_.qp->qp_type;
    message.private_data_size = own_.private_data.size();
    std::ranges::copy(own_.private_data, message.private_data.begin());
}

void Side::keep_address(const OwnEnd& own, const Message& peer) {
    datagram_address_ = {port_.way_to(own, peer.sender), peer.sender.qpn};
}

Way Side::way_to(const OwnEnd& own, const Message& peer, std::uint8_t mtu) const {
    const cm::Reads reads = common_reads(own_.responder_resources, own_.initiator_depth, peer);
    support::trace(support::Level::kDebug,
                   "queue pair {:x} to {:x} of {}: GID index {} ({}, {}), MTU code {}, reads {} in "
                   "and {} out",
                   own_.qp->qp_num, peer.sender.qpn, to_text(peer_), own.gid.index,
                   verbs::to_text(own.gid.gid), verbs::to_text(own.gid.reason), mtu, reads.served,
                   reads.asked);
    return {own_.qp, own, peer.sender, mtu, reads};
}

std::optional<Side::Connected> Side::connect(const OwnEnd& own, const Message& peer,
                                             std::uint8_t mtu) {
    if (own_.qp->qp_type == IBV_QPT_UD) {
        keep_address(own, peer);
        return Connected();
    }
    const Way way = way_to(own, peer, mtu);
    Connected connected;
    const auto work = [&] {
        try {
            connected = port_.connect(way);
        } catch (const std::bad_alloc&) {
            // Not thrown on: the connection may be gone by then.
            connected = tl::unexpected<std::string>("no memory");
        }
    };
    if (!moving_.run(work)) return std::nullopt;
    return connected;
}

void Side::tell_no_path(const std::string& cause) const {
    support::report<support::kNoPath>(to_text(peer_), cause);
}

}  // namespace dapl::exchange
