// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The processors on which a process may run.
#pragma once

#include <vector>

namespace perf {

/// @return the processors that this process may run on.
std::vector<int> allowed_cpus();
/// Pins the calling thread. @throws tools::Failure when the processor does not exist.
void pin_to(int cpu);

}  // namespace perf
