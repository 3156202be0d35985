// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/barrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace softverbs {
namespace {

bool command(int number) {
    return syscall(SYS_membarrier, number, 0, 0) == 0;
}

/// When the library is loaded most processes have a single thread. Where there are more, the kernel
/// waits for all processors, which takes up to 20 ms: a program's first open would.
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
    (void)command(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

}  // namespace softverbs
