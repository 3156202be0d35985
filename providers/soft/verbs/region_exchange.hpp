// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ordinary memory gets on path S once requesters have used a region so much that the exchange of
/// its pages pays: registering, one transfer and deregistering cost what they cost on path P.
/// Requesters count in the region's entry, and tell the owner; here the owner decides.
///
/// Meanwhile the entry is closed to peers: all queue pairs are paused, and who was at work has
/// finished.
#pragma once

#include <cstdint>

namespace softverbs {

class Adapter;
struct RemoteRange;
struct Target;

/// A requester has moved bytes on path P. While it is marked busy at the target.
void count_traffic(const Target& target, const RemoteRange& range);

/// Service thread, with the adapter's mutex: sees to the region that a requester told of.
void serve_hot_region(Adapter& adapter);
/// The same on a thread of the application, beside which there may be no other.
void exchange_at_leisure(Adapter& adapter);

}  // namespace softverbs
