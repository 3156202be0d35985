// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Points at which tests end a process (fault_points.def). In the libraries they are empty
/// functions, for which nothing is compiled. In the build of this folder that tests link with
/// (libregistrations_faulty.la) they call a function of the test.
#pragma once

#if defined(NO_FAULT_POINTS)
#error \
    "a file of libregistrations_base.la is compiled once, without fault points: list it with those that have them"
#endif

namespace dapl::memory {

enum class FaultPoint : unsigned {
#define FAULT_POINT(name) name,
#include "broker/table/fault_points.def"
#undef FAULT_POINT
    kCount
};

#if defined(REGISTRATION_FAULT_POINTS)
/// Set by a test; nullptr: nothing happens.
extern void (*at_fault_point)(FaultPoint);
inline void fault_point(FaultPoint point) {
    if (at_fault_point) at_fault_point(point);
}
#else
[[gnu::always_inline]] inline void fault_point(FaultPoint) {}
#endif

}  // namespace dapl::memory
