// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Measures what one trace point on the data path costs while it is off, and while it is recorded.
/// The time of the same loop without points is subtracted.
///
/// usage: trace_points COUNT
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "support/log/log.hpp"
#include "support/trace/trace_points.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPoints = 8;  ///< per round, so that the cost of the loop itself is small
constexpr int kRuns = 7;    ///< the fastest counts, as any disturbance makes a run slower

/// Prevents the compiler from moving memory accesses across it.
void barrier() {
    asm volatile("" ::: "memory");
}

void point() {
    barrier();
    if (support::data_path_traced()) [[unlikely]]
        support::trace_post(1, {support::TraceCall::ep_post_send, 2, 8, 1, 0}, 0);
}

template <class Round>
double nanoseconds(long count, const Round& round) {
    double quickest = 1e300;
    for (int run = 0; run < kRuns; ++run) {
        const Clock::time_point begin = Clock::now();
        for (long left = count; left > 0; --left) round();
        const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
        quickest = std::min(quickest, took.count() / static_cast<double>(count) / kPoints);
    }
    return quickest;
}

double point_nanoseconds(long count) {
    const double with = nanoseconds(count, [] {
        for (int i = 0; i < kPoints; ++i) point();
    });
    const double without = nanoseconds(count, [] {
        for (int i = 0; i < kPoints; ++i) barrier();
    });
    return std::max(0.0, with - without);
}

}  // namespace

int main(int argc, char** argv) {
    const long count = argc == 2 ? std::atol(argv[1]) : 0;
    if (count <= 0) {
        std::fprintf(stderr, "usage: trace_points COUNT\n");
        return 2;
    }
    support::set_trace_level(support::kDataPathLevel - 1);
    std::printf("trace_point_off %.3f\n", point_nanoseconds(count));
    support::set_trace_level(support::kDataPathLevel);
    std::printf("trace_point_on %.3f\n", point_nanoseconds(count));
    return 0;
}
