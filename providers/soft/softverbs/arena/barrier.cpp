// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/arena/barrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace softverbs {
namespace {

/// We wait for so long where the kernel has begun to refuse the call, as it does under a filter of
/// system calls that was installed after we had registered. A processor carries out its stores in a
/// small part of this time.
constexpr timespec kUntilStoresAreVisible{0, 1'000'000};

bool command(int number) {
    return syscall(SYS_membarrier, number, 0, 0) == 0;
}

/// Registers when the library is loaded, while most processes have a single thread. With more
/// threads the kernel waits for all processors, up to 20 ms, which would delay the program's first
/// open.
[[gnu::constructor]] void register_early() {
    (void)command(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

}  // namespace

bool take_part_in_barrier() {
    return command(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
           command(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void issue_barrier() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!command(MEMBARRIER_CMD_GLOBAL_EXPEDITED)) nanosleep(&kUntilStoresAreVisible, nullptr);
}

}  // namespace softverbs
