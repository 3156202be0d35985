// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Checks what this thread's trace tells of the calls of libdat2.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/trace/trace_ring.hpp"
#include "support/trace/trace_text.hpp"

namespace test {

/// @return the last `count` records of this thread, or all of them if there are fewer.
inline std::vector<support::TraceRecord> last_records(std::size_t count) {
    for (const support::TraceCopy& ring : support::copy_rings()) {
        if (ring.thread != static_cast<std::uint32_t>(gettid())) continue;
        const std::size_t skipped = ring.records.size() - std::min(count, ring.records.size());
        return {ring.records.begin() + static_cast<std::ptrdiff_t>(skipped), ring.records.end()};
    }
    return {};
}

/// @return when this thread recorded something last, 0 if never.
inline std::uint64_t time_of_last_record() {
    const auto last = last_records(1);
    return last.empty() ? 0 : last[0].time;
}

/// Expects that the last two records are the call `name` on `object` and its return with `code`.
inline void expect_recorded(const std::string& name, std::uint64_t object, std::uint32_t code) {
    const auto last = last_records(2);
    ASSERT_EQ(last.size(), 2u) << name;
    EXPECT_EQ(last[0].event, static_cast<std::uint16_t>(support::TraceEvent::kCall)) << name;
    EXPECT_EQ(last[1].event, static_cast<std::uint16_t>(support::TraceEvent::kReturn)) << name;
    for (const support::TraceRecord& record : last) {
        EXPECT_EQ(support::call_name(record.what), "dat_" + name);
        EXPECT_EQ(record.object, object) << name;
    }
    EXPECT_EQ(last[1].values[0], code) << name;
    EXPECT_EQ(last[0].hook, static_cast<std::uint16_t>(support::TraceHook::kDat)) << name;
    EXPECT_EQ(last[1].hook, static_cast<std::uint16_t>(code ? support::TraceHook::kDatError
                                                            : support::TraceHook::kDat))
        << name;
}

}  // namespace test
