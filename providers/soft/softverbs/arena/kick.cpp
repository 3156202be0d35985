// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/arena/kick.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "providers/soft/softverbs/arena/fault_points.hpp"

#include "support/base/processor.hpp"

namespace softverbs {

void set_kick(std::atomic<std::uint64_t>* kicks, std::atomic<std::uint64_t>* summary,
              std::uint32_t index) {
    kicks[index / 64].fetch_or(std::uint64_t{1} << index % 64, std::memory_order_seq_cst);
    fault_point(FaultPoint::kKickSet);
    summary[index / 4096].fetch_or(std::uint64_t{1} << index / 64 % 64, std::memory_order_seq_cst);
    fault_point(FaultPoint::kKickSummarySet);
}

bool raise_event(int fd, std::uint64_t count) {
    return syscall(SYS_write, fd, &count, sizeof count) == sizeof count;
}

void relax(int& turns) {
    constexpr int kTurnsBeforeYield = 64;
    if (++turns % kTurnsBeforeYield == 0) {
        sched_yield();
    } else {
        support::pause_processor();
    }
}

}  // namespace softverbs
