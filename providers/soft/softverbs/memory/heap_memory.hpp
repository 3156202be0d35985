// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Access to the shared heap of this process, which is a library of its own
/// (providers/soft/softverbs/heap).
#pragma once

#include "providers/soft/softverbs/memory/shared_heap.h"

namespace softverbs {

/// @return nullptr when it is not loaded.
const softverbs_heap_calls* shared_heap();

/// Opens a page file for this process: the heap's if it is loaded, else a new one.
/// @return a descriptor that the caller closes, or -1 with errno.
int open_page_file();

}  // namespace softverbs
