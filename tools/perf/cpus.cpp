// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/cpus.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>

#include "tools/common/failure.hpp"

namespace perf {

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    if (cpu < CPU_SETSIZE && sched_setaffinity(0, sizeof set, &set) == 0) return;
    throw tools::Failure(tools::format("pin to processor %d", cpu), std::strerror(errno),
                         "a processor that this process may use",
                         "choose others: taskset -p lists those that are allowed");
}

}  // namespace perf
