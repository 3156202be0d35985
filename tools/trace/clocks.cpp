// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/clocks.hpp"

#include <time.h>

#include "support/base/processor.hpp"

namespace tracing {
namespace {

/// A moment is off by some 100 ns; two of them this far apart still give a rate.
constexpr std::uint64_t kEnough = 10'000'000;
constexpr double kSlowest = 1e-2, kFastest = 1e2;  ///< ns per tick

/// @return the rate for a process without two moments far enough apart: most are from this machine.
double rate_of_this_machine() {
    static const double rate = [] {
        const std::uint64_t begin = support::nanoseconds(CLOCK_MONOTONIC);
        const std::uint64_t ticks = support::processor_ticks();
        const timespec pause{0, static_cast<long>(kEnough)};
        nanosleep(&pause, nullptr);
        return static_cast<double>(support::nanoseconds(CLOCK_MONOTONIC) - begin) /
               static_cast<double>(support::processor_ticks() - ticks);
    }();
    return rate;
}

std::int64_t difference(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a - b);
}

}  // namespace

Clocks::Clocks(const Snapshot& snapshot) {
    bool uses_ticks = false;
    for (const Library& library : snapshot.libraries) {
        if (library.clock != support::TraceClock::kTimeStamps) continue;
        uses_ticks = true;
        for (const Thread& thread : library.threads) {
            note(thread.begun);
            note(thread.latest);
        }
    }
    if (uses_ticks) {
        note(snapshot.now);
        settle_rate();
    } else {
        for (const Library& library : snapshot.libraries)
            for (const Thread& thread : library.threads) note(thread.latest);
    }
    offset_ns_ = difference(last_.realtime_ns, last_.monotonic_ns);
}

void Clocks::note(const Moment& moment) {
    if (moment.ticks == 0) return;
    if (first_.ticks == 0 || moment.ticks < first_.ticks) first_ = moment;
    if (moment.ticks > last_.ticks) last_ = moment;
}

void Clocks::settle_rate() {
    const std::uint64_t span = last_.monotonic_ns - first_.monotonic_ns;
    const std::uint64_t ticks = last_.ticks - first_.ticks;
    ns_per_tick_ = ticks ? static_cast<double>(span) / static_cast<double>(ticks) : 0;
    const bool good = last_.monotonic_ns > first_.monotonic_ns && span >= kEnough &&
                      ns_per_tick_ > kSlowest && ns_per_tick_ < kFastest;
    if (!good) ns_per_tick_ = rate_of_this_machine();
}

std::int64_t Clocks::monotonic_ns(support::TraceClock clock, std::uint64_t ticks) const {
    if (clock != support::TraceClock::kTimeStamps) return static_cast<std::int64_t>(ticks);
    const double since = static_cast<double>(difference(ticks, last_.ticks)) * ns_per_tick_;
    // Garbage in a broken record must not overflow.
    const double limit = 4e18;
    if (since > limit || since < -limit) return 0;
    return static_cast<std::int64_t>(last_.monotonic_ns +
                                     static_cast<std::uint64_t>(static_cast<std::int64_t>(since)));
}

}  // namespace tracing
