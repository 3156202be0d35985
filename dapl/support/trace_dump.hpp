// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What this library's threads did last, written to the log from within the process.
#pragma once

#include <vector>

#include "dapl/support/messages.hpp"
#include "dapl/support/trace_ring.hpp"

namespace support {

/// The whole records of one ring, oldest first.
struct TraceCopy {
    std::uint32_t thread;
    char name[17];
    std::uint64_t begun_ticks, begun_ns;  ///< one moment on both clocks
    std::uint64_t latest_ticks, latest_ns;
    std::vector<TraceRecord> records;
};

/// Of all rings of this library, while their threads go on.
std::vector<TraceCopy> copy_rings();

/// Writes all records, merged by time, to where messages go.
void dump_rings();
/// The same where OPENDAT_TRACE_DUMP asks for it after a message of this level, three times in a
/// process.
void dump_after(Level level);

}  // namespace support
