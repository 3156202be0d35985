// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/memory/memory_check.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#if !defined(MADV_POPULATE_READ)  // Linux 5.14
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace softverbs {

/// On kernels without MADV_POPULATE_READ, msync finds out what is not mapped; it does nothing else
/// to ordinary memory.
int check_memory(void* address, std::size_t length, bool writes) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<std::uintptr_t>(address) & ~(page - 1);
    const std::uintptr_t end =
        (reinterpret_cast<std::uintptr_t>(address) + length + page - 1) & ~(page - 1);
    if (end <= start || end - start < length) return EFAULT;
    auto* const first_page = reinterpret_cast<void*>(start);
    const int touch = writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    if (madvise(first_page, end - start, touch) == 0) return 0;
    const int cause = errno;
    const bool unknown = cause == EINVAL && madvise(first_page, 0, touch) != 0;
    if (!unknown) return cause == EINVAL ? EFAULT : cause;
    return msync(first_page, end - start, MS_ASYNC) == 0 ? 0 : EFAULT;
}

}  // namespace softverbs
