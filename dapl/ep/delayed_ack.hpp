// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The EP attribute delayed_ack: a request completes only when its data is visible in the target's
/// memory. A device's acknowledgement says only that the data has reached the peer's device. So the
/// core posts a zero-byte read behind each request that carries data; the peer answers the read
/// when the data before it has been placed, and the request completes with the read (post.cpp).
#pragma once

#include <infiniband/verbs.h>

#include "dapl/base/dat.hpp"
#include "support/base/result.hpp"

namespace dapl {

class Ia;

/// Returns whether the device of an adapter instance is known to answer such a read only after the
/// placement.
bool has_delayed_ack(const Ia& ia);

/// Set and get the attribute in an EP's settled attributes, whose list is always one of the core's
/// own, never the consumer's.
void set_delayed_ack(DAT_EP_ATTR& attributes, bool delayed);
bool is_delayed(const DAT_EP_ATTR& attributes);

/// Returns the number of work requests for max_request_dtos: twice that if each is confirmed.
DAT_COUNT slots_of_requests(const DAT_EP_ATTR& attributes, bool delayed);

/// Reads the attribute from a consumer's list. @return its value, false if it is not listed; or the
/// code for dat_ep_modify.
support::Result<bool> wanted_delayed_ack(const Ia& ia, const DAT_EP_ATTR& wanted);

}  // namespace dapl
