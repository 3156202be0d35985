// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// From two processes to a connected pair that knows each other's memory and abilities.
#pragma once

#include "test/dtest/endpoint.hpp"
#include "test/dtest/options.hpp"

namespace dtest {

/// What this side knows about the other one.
struct Peer {
    /// It is a dtest of this kind: each transfer is checked by turns of fill, transfer and check.
    /// Any other dtest is served in its own sequence, where it decides what is in the buffers.
    bool checks = false;
    bool offers_read = false;
    bool offers_immediate = false;
};

/// Opens `options.provider` (a client first takes over the server's), connects, and tells the other
/// side where the target region is. Throws a Failure when any of it does not work.
Peer establish(Endpoint& endpoint, Options& options);

/// Tells the other side where this side's target region is.
void send_memory(Endpoint& endpoint, const Deadline& deadline);

/// How long to wait until the peer has moved `bytes`: the timeout, and a second for each megabyte.
Deadline patience(const Options& options, double bytes);

}  // namespace dtest
