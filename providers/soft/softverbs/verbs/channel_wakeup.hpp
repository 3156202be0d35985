// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Descriptors of the peers' completion channels. Each is requested when a connection is made and
/// kept once per channel, so that a requester wakes a sleeping peer with one system call, without a
/// thread in between.
#pragma once

#include <memory>

#include "providers/soft/softverbs/fabric/process.hpp"

namespace softverbs {

class Adapter;

/// Asks a peer for the descriptor of one of its completion channels.
struct ChannelRequest {
    std::uint32_t cq;
    std::uint32_t channel;
};

/// Registers the handler that answers such requests (completion_channel.cpp). Called once, before
/// the service thread runs.
void serve_channel_requests(Adapter& adapter);

/// @return the descriptor of the channel of the peer's completion queue `cq`, or nullptr: then the
/// peer's service thread has to wake the channel.
std::shared_ptr<UniqueFd> channel_of(Adapter& adapter, Peer& peer, std::uint32_t cq,
                                     std::uint32_t channel);

/// Drops the descriptors of a peer that is gone.
void forget_channels_of(Adapter& adapter, const Peer& peer);

}  // namespace softverbs
