// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The shared heap of this process (providers/soft/softverbs/heap), which is a library of its own.
#pragma once

#include "providers/soft/softverbs/verbs/shared_heap.h"

namespace softverbs {

/// @return nullptr when it is not loaded.
const softverbs_heap_calls* shared_heap();

/// A page file for this process: the heap's where there is one. @return a descriptor that the
/// caller closes, or -1 with errno.
int open_page_file();

}  // namespace softverbs
