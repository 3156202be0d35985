// SPDX-License-Identifier: BSD-2-Clause
#include "broker/table/fault_points.hpp"

#if defined(REGISTRATION_FAULT_POINTS)
namespace dapl::memory {
void (*at_fault_point)(FaultPoint) = nullptr;
}
#endif
