// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The EP attribute delayed_ack: a request completes only when its data is visible in the target's
/// memory. A device acknowledges what has reached the peer's device; behind each request that
/// brings data the core posts a read of no bytes, which the peer answers when it has placed what
/// came before, and the request completes with that (post.cpp).
#pragma once

#include <infiniband/verbs.h>

#include "dapl/base/dat.hpp"
#include "support/base/result.hpp"

namespace dapl {

class Ia;

/// Whether the device of an adapter instance was shown to answer such a read after the placement.
bool has_delayed_ack(const Ia& ia);

/// What an endpoint's attributes say. In those that are ours the list is one of our own.
void set_delayed_ack(DAT_EP_ATTR& attributes, bool delayed);
bool is_delayed(const DAT_EP_ATTR& attributes);

/// How many work requests the consumer's requests need: a request that is confirmed is two.
DAT_COUNT slots_of_requests(const DAT_EP_ATTR& attributes, bool delayed);

/// @param wanted a consumer's, whose list is looked at. @return what it asks for; codes as
/// dat_ep_modify gives them.
support::Result<bool> wanted_delayed_ack(const Ia& ia, const DAT_EP_ATTR& wanted);

}  // namespace dapl
