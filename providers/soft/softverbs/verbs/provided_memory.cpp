// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <new>

#include "providers/soft/softverbs/memory/shared_pages.hpp"
#include "providers/soft/softverbs/softverbs.h"
#include "support/base/guard.hpp"

void* softverbs_memory_alloc(size_t size) {
    const support::CancellationDisabled guard;
    try {
        return softverbs::SharedPages::of_process().allocate(size);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

void softverbs_memory_free(void* memory) {
    const support::CancellationDisabled guard;
    softverbs::SharedPages::of_process().free(memory);
}
