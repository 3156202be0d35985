// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/verbs/fault_points.hpp"

namespace softverbs {

#if defined(SOFTVERBS_FAULT_POINTS)
void (*at_fault_point)(FaultPoint) = nullptr;
#endif

}  // namespace softverbs
