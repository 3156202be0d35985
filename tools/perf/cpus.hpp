// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// On which processors a process may run.
#pragma once

#include <vector>

namespace perf {

/// @return the processors that this process may run on.
std::vector<int> allowed_cpus();
/// Pins the calling thread. @throws tools::Failure when the processor is not there.
void pin_to(int cpu);

}  // namespace perf
