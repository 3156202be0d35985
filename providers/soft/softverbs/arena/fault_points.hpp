// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fault points: places where tests end a process (fault_points.def). In the library they are empty
/// functions, for which no code is generated. The build of this folder that tests link with
/// (libsoftverbs_faulty.la) calls a function of the test there.
#pragma once

#if defined(NO_FAULT_POINTS)
#error \
    "a file of libsoftverbs_base.la is compiled once, without fault points: list it with those that have them"
#endif

#include <atomic>

namespace softverbs {

enum class FaultPoint : unsigned {
#define FAULT_POINT(name) name,
#include "providers/soft/softverbs/arena/fault_points.def"
#undef FAULT_POINT
    kCount
};

#if defined(SOFTVERBS_FAULT_POINTS)
/// Called at each fault point, unless nullptr. A test may set it while threads are at any of them.
extern std::atomic<void (*)(FaultPoint)> at_fault_point;
inline void fault_point(FaultPoint point) {
    if (auto* const call = at_fault_point.load()) call(point);
}
#else
[[gnu::always_inline]] inline void fault_point(FaultPoint) {}
#endif

}  // namespace softverbs
