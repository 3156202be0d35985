// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/heap_memory.hpp"

#include <fcntl.h>

#include "providers/soft/softverbs/memory/page_file.hpp"

/// The heap's library is preloaded, so it is there from the start or never. A weak symbol, since
/// dlsym() of a missing name allocates, and the callers hold locks that the program's malloc() may
/// take.
extern "C" __attribute__((weak)) const softverbs_heap_calls* softverbs_shared_heap();

namespace softverbs {

const softverbs_heap_calls* shared_heap() {
    return softverbs_shared_heap ? softverbs_shared_heap() : nullptr;
}

int open_page_file() {
    const softverbs_heap_calls* const heap = shared_heap();
    const int fd = heap ? heap->descriptor() : -1;
    return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : make_page_file();
}

}  // namespace softverbs
