// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The EP attribute delayed_ack: a request completes only when its data is visible in the target's
/// memory.
#pragma once

namespace dapl {

class Ia;

/// Whether the device of an adapter instance was shown to do it.
bool has_delayed_ack(const Ia& ia);

}  // namespace dapl
