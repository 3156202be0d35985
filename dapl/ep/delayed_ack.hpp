// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The EP attribute delayed_ack: a request completes only when its data is visible in the target's
/// memory. A device's acknowledgement says only that the data has reached the peer's device. So the
/// core posts a read behind each request that carries data, and the request completes with the read
/// (post.cpp). Devices that are known to answer only when the data before is placed are asked for
/// nothing; others have to fetch the last byte of what was written.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "dapl/base/dat.hpp"
#include "support/base/result.hpp"

namespace dapl {

class Ia;

enum class DelayedAck : std::uint8_t {
    kFalse,
    kTrue,     ///< confirmed by a read of nothing
    kReadBack  ///< writes are confirmed by a read of their last byte, which needs the right to read
};

/// Returns whether the device of an adapter instance is known to answer a read of nothing only
/// after the placement.
bool has_delayed_ack(const Ia& ia);

/// Set and get the attribute in an EP's settled attributes, whose list is always one of the core's
/// own, never the consumer's.
void set_delayed_ack(DAT_EP_ATTR& attributes, DelayedAck value);
DelayedAck delayed_ack(const DAT_EP_ATTR& attributes);

/// Returns the number of work requests for max_request_dtos: twice that if each is confirmed.
DAT_COUNT slots_of_requests(const DAT_EP_ATTR& attributes, DelayedAck value);

/// Reads the attribute from a consumer's list. @return its value, kFalse if it is not listed; or
/// the code for dat_ep_modify.
support::Result<DelayedAck> wanted_delayed_ack(const Ia& ia, const DAT_EP_ATTR& wanted);

}  // namespace dapl
