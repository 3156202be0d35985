// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace softverbs {

/// Touches every page as the device may, like an adapter that pins memory. So unmapped pages,
/// read-only pages that the device is to write, pages behind the end of a file, and a lack of
/// memory are found here and not in the middle of a transfer.
/// @return 0 or an errno.
int check_memory(void* address, std::size_t length, bool writes);

}  // namespace softverbs
