// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Makes of two processes a connected pair in which each knows the other's memory and abilities.
#pragma once

#include "test/dtest/endpoint.hpp"
#include "test/dtest/options.hpp"

namespace dtest {

/// What this side knows about the other one.
struct Peer {
    /// Whether it is a dtest of this kind, with which each transfer is filled, made and checked in
    /// rounds. For any other dtest the sequence is that of the reference, which dictates the
    /// contents of the buffers.
    bool checks = false;
    bool offers_read = false;
    bool offers_immediate = false;
};

/// Opens `options.provider` (a client first adopts the server's), connects, and exchanges the
/// addresses of the target regions. Throws a Failure when any of this fails.
Peer establish(Endpoint& endpoint, Options& options);

/// Sends the address of this side's target region to the other side.
void send_memory(Endpoint& endpoint, const Deadline& deadline);

/// @return the deadline for the peer to move `bytes`: the timeout plus a second per megabyte.
Deadline patience(const Options& options, double bytes);

}  // namespace dtest
