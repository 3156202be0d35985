// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes dat_trace with any bytes as a core file or a dump. It refuses them with a reason, or
/// merges them with themselves and prints them, without reading past their end.
#include <cstdint>
#include <string>
#include <vector>

#include "test/fuzz/input.hpp"
#include "tools/common/failure.hpp"
#include "tools/trace/report.hpp"
#include "tools/trace/source.hpp"
#include "tools/trace/timeline.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    std::vector<tracing::Snapshot> snapshots;
    try {
        snapshots.push_back(tracing::from_bytes(bytes, "input"));
    } catch (const tools::Failure& failure) {
        test::require(*failure.what() != '\0', "a refusal has a reason");
        return 0;
    }
    snapshots.push_back(snapshots.front());
    const tracing::Timeline timeline = tracing::make_timeline(snapshots);
    const std::string table = tracing::to_table(snapshots, timeline, true);
    for (const char c : table)
        test::require(c == '\n' || (c >= 0x20 && c < 0x7f), "nothing moves the terminal's cursor");
    const std::string json = tracing::to_json(snapshots, timeline, false);
    test::require(json.starts_with(R"({"tool":"dat_trace","version":1,)"),
                  "the document has its version");
    return 0;
}
