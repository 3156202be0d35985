// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/arena/fault_points.hpp"

namespace softverbs {

#if defined(SOFTVERBS_FAULT_POINTS)
std::atomic<void (*)(FaultPoint)> at_fault_point = nullptr;
#endif

}  // namespace softverbs
