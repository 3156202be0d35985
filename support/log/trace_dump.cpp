// SPDX-License-Identifier: BSD-2-Clause
#include "support/log/trace_dump.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "support/log/log.hpp"
#include "support/settings/settings.hpp"
#include "support/trace/trace_text.hpp"

namespace support {
namespace {

constexpr int kMostDumps = 3;

struct Event {
    std::uint64_t ticks;
    const TraceCopy* ring;
    const TraceRecord* record;
};

/// @return the tick length from the longest interval between two readings of both clocks, which is
/// the most exact.
double nanoseconds_per_tick(const std::vector<TraceCopy>& copies) {
    double length = 1;
    std::uint64_t longest = 0;
    for (const TraceCopy& copy : copies) {
        const std::uint64_t ticks = copy.latest_ticks - copy.begun_ticks;
        if (copy.latest_ticks <= copy.begun_ticks || ticks <= longest) continue;
        longest = ticks;
        length = static_cast<double>(copy.latest_ns - copy.begun_ns) / static_cast<double>(ticks);
    }
    return length;
}

}  // namespace

void dump_rings() {
    const std::vector<TraceCopy> copies = copy_rings();
    std::vector<Event> events;
    for (const TraceCopy& copy : copies)
        for (const TraceRecord& record : copy.records)
            events.push_back({record.time, &copy, &record});
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.ticks < b.ticks; });
    const std::uint64_t now = trace_ticks();
    const double length = nanoseconds_per_tick(copies);
    detail::write(Level::kInfo, fmt::format("the last {} events of {} threads, with their age in "
                                            "seconds:",
                                            events.size(), copies.size()));
    for (const Event& event : events) {
        const double ago = static_cast<double>(now - event.ticks) * length / 1e9;
        detail::write(Level::kInfo, fmt::format("-{:.6f} {}/{} {}", ago, event.ring->thread,
                                                event.ring->name, to_text(*event.record)));
    }
}

void dump_after(Level level) {
    static std::atomic<int> dumps;
    if (static_cast<long>(level) > setting_integer(Setting::kTraceDump)) return;
    if (dumps.fetch_add(1, std::memory_order_relaxed) < kMostDumps) dump_rings();
}

}  // namespace support
