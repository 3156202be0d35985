// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Tells the devices of softverbs from those of other libraries.
#pragma once

#include <infiniband/verbs.h>

namespace softverbs {

/// Whether it is one of the devices that this process sees.
bool is_soft(const ibv_device* device);

}  // namespace softverbs
