// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The traces of a process at one moment: a copy that can be saved in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/trace/trace_ring.hpp"
#include "tools/trace/image.hpp"

namespace tracing {

/// One moment on all clocks, as in a ring.
struct Moment {
    std::uint64_t ticks = 0;  ///< 0: unknown
    std::uint64_t monotonic_ns = 0;
    std::uint64_t realtime_ns = 0;
};

struct Thread {
    std::uint32_t id = 0;
    bool ended = false;
    std::string name;
    Moment begun, latest;
    std::uint64_t overwritten = 0;  ///< number of events that were older than the records
    std::vector<support::TraceRecord> records;
};

struct Library {
    std::string path;
    std::uint64_t address = 0;  ///< of its TraceObject
    support::TraceSide side{};
    std::int32_t level = 0;  ///< negative: the library has not needed it yet
    support::TraceClock clock{};
    std::uint64_t lost = 0;
    std::vector<Thread> threads;
};

struct Snapshot {
    std::string source;
    std::string program;
    std::string host;
    std::uint32_t pid = 0;
    Moment now;  ///< for a running process
    std::vector<Library> libraries;
};

/// Copies the traces of all OpenDAT libraries. Throws tools::Failure when there is none that this
/// tool can read.
Snapshot take_snapshot(const Image& image);

}  // namespace tracing
