// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Descriptors of the peers' completion channels: asked for when a connection is made, kept once
/// per channel, so that a requester wakes a sleeping peer with one write and no thread between.
#pragma once

#include <memory>

#include "providers/soft/softverbs/fabric/process.hpp"

namespace softverbs {

class Adapter;

/// What a peer is asked: the descriptor of a channel of its.
struct ChannelRequest {
    std::uint32_t cq;
    std::uint32_t channel;
};

/// Answers the peers' questions (completion_channel.cpp). Called once, before the service thread
/// runs.
void serve_channel_requests(Adapter& adapter);

/// @return the descriptor of the channel of the peer's completion queue `cq`, or nullptr: then the
/// peer's service thread wakes the channel.
std::shared_ptr<UniqueFd> channel_of(Adapter& adapter, Peer& peer, std::uint32_t cq,
                                     std::uint32_t channel);

/// The peer is gone.
void forget_channels_of(Adapter& adapter, const Peer& peer);

}  // namespace softverbs
