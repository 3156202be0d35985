// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Places where tests end a process (fault_points.def). In the library they are empty functions:
/// nothing is compiled for them. The build of this folder that tests link with
/// (libsoftverbs_faulty.la) calls a function of the test there.
#pragma once

namespace softverbs {

enum class FaultPoint : unsigned {
#define FAULT_POINT(name) name,
#include "providers/soft/verbs/fault_points.def"
#undef FAULT_POINT
    kCount
};

#if defined(SOFTVERBS_FAULT_POINTS)
/// Set by a test; nullptr: nothing happens.
extern void (*at_fault_point)(FaultPoint);
inline void fault_point(FaultPoint point) {
    if (at_fault_point) at_fault_point(point);
}
#else
[[gnu::always_inline]] inline void fault_point(FaultPoint) {}
#endif

}  // namespace softverbs
