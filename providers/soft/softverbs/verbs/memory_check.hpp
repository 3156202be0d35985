// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace softverbs {

/// Touches every page in the way the device may, as an adapter that pins memory does: what is not
/// mapped, a page that only may be read where the device is to write, a hole at the end of a file
/// and a machine without memory are found here and not in the middle of a transfer.
/// @return 0 or an errno.
int check_memory(void* address, std::size_t length, bool writes);

}  // namespace softverbs
