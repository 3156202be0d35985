// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process that has joined a fabric to do harm, for tests.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "providers/soft/softverbs/arena/arena.hpp"
#include "providers/soft/softverbs/fabric/process.hpp"
#include "test/softverbs/verbs_pair.hpp"

namespace test {

/// @return the process that owns the queue pair.
inline std::shared_ptr<softverbs::Peer> owner_of(const Address& victim) {
    auto peer =
        softverbs::Process::current()->peer_of_qpn(victim.qp_num, Clock::now() + scaled(50s));
    require(peer.has_value(), "the victim is found");
    return *peer;
}

inline softverbs::ArenaView arena_of(const softverbs::Peer& peer) {
    return {peer.arena(), peer.arena_size()};
}

}  // namespace test
