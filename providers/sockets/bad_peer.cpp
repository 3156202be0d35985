// SPDX-License-Identifier: BSD-2-Clause
#include "providers/sockets/bad_peer.hpp"

#include <atomic>

#include "device/address.hpp"
#include "support/log/log.hpp"

namespace dapl::sockets {
namespace {

constexpr int kMostTold = 5;
std::atomic<int> told{0};

}  // namespace

void tell_bad_peer(const sockaddr_storage& peer, const std::string& what) {
    const std::string address = to_text(peer);
    // Stops counting before the counter overflows.
    const int before = told.load() <= kMostTold ? told.fetch_add(1) : kMostTold + 1;
    if (before < kMostTold) return support::report<support::kBadPeer>(address, what);
    if (before == kMostTold) support::report<support::kFurtherBadPeers>(kMostTold);
    support::trace(support::Level::kDebug, "connection from {} is dropped: {}", address, what);
}

}  // namespace dapl::sockets
