// SPDX-License-Identifier: BSD-2-Clause
#include "tools/trace/report.hpp"

#include <fmt/core.h>
#include <time.h>

#include "support/trace/trace_text.hpp"
#include "tools/common/terminal.hpp"

namespace tracing {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Names and labels come from memory that anybody may have written.
using tools::printable;

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : printable(text)) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

/// @return A, B, ... Z, then the number.
std::string name_of(std::size_t source) {
    return source < 26 ? std::string(1, static_cast<char>('A' + source))
                       : fmt::format("{}", source);
}

std::string file_name(const std::string& path) {
    return printable(path.substr(path.rfind('/') + 1));
}

const char* side_name(support::TraceSide side) {
    return side == support::TraceSide::kDat ? "DAT" : "DAPL";
}

std::string level_text(const Library& library) {
    return library.level < 0 ? "not set yet" : fmt::format("{}", library.level);
}

std::string time_text(std::int64_t time_ns) {
    std::int64_t rest = time_ns % kSecond;
    const auto seconds = static_cast<time_t>(time_ns / kSecond - (rest < 0));
    if (rest < 0) rest += kSecond;
    tm local{};
    char text[16] = "??:??:??";
    if (localtime_r(&seconds, &local)) strftime(text, sizeof text, "%H:%M:%S", &local);
    return fmt::format("{}.{:09}", text, rest);
}

std::string end_text(const End& end) {
    return fmt::format("{} {} port {}", name_of(end.source), support::object_name(end.object, true),
                       end.port);
}

std::size_t event_count(const Library& library) {
    std::size_t count = 0;
    for (const Thread& thread : library.threads) count += thread.records.size();
    return count;
}

std::string source_line(std::size_t number, const Snapshot& snapshot) {
    return fmt::format("{}: {}{}{}\n", name_of(number), printable(snapshot.source),
                       snapshot.program.empty() ? "" : ", " + printable(snapshot.program),
                       snapshot.host.empty() ? "" : " on " + printable(snapshot.host));
}

std::string heading(std::span<const Snapshot> snapshots, const Timeline& timeline) {
    std::string text;
    for (std::size_t i = 0; i < snapshots.size(); ++i) {
        text += source_line(i, snapshots[i]) + levels(snapshots[i]);
        if (timeline.shifts[i] != 0)
            text += fmt::format("   its clock differs: {:+.6f} s added to its times\n",
                                static_cast<double>(timeline.shifts[i]) / 1e9);
    }
    for (std::size_t i = 0; i < timeline.connections.size(); ++i) {
        text += fmt::format("connection {}:", i + 1);
        const char* between = " ";
        for (const End& end : timeline.connections[i].ends) {
            text += between + end_text(end);
            between = ", ";
        }
        text += '\n';
    }
    return text;
}

std::string json_libraries(const Snapshot& snapshot) {
    std::string text;
    for (const Library& library : snapshot.libraries)
        text += fmt::format(
            "{}{{\"path\":{},\"side\":\"{}\",\"level\":{},\"threads\":{},\"events\":{},\"lost\":{}}"
            "}",
            text.empty() ? "" : ",", quoted(library.path), side_name(library.side), library.level,
            library.threads.size(), event_count(library), library.lost);
    return text;
}

std::string json_event(const Event& event, std::optional<std::size_t> connection) {
    const support::TraceRecord& record = *event.record;
    std::string values;
    for (const std::uint64_t value : record.values)
        values += fmt::format("{}\"{:#x}\"", values.empty() ? "" : ",", value);
    return fmt::format(
        "{{\"time_us\":{}.{:03},\"source\":\"{}\",\"thread\":{},\"thread_name\":{},\"side\":\"{}\","
        "\"hook\":\"{:#x}\",\"event\":{},\"what\":{},\"object\":\"{:#x}\",\"values\":[{}],"
        "\"connection\":{},\"text\":{}}}",
        event.time_ns / 1000, event.time_ns < 0 ? 0 : event.time_ns % 1000, name_of(event.source),
        event.thread->id, quoted(event.thread->name), side_name(event.library->side), record.hook,
        record.event, record.what, record.object, values,
        connection ? fmt::format("{}", *connection + 1) : "null", quoted(support::to_text(record)));
}

}  // namespace

bool is_about_connections(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all) {
    return !all && snapshots.size() > 1 && !timeline.connections.empty();
}

std::string levels(const Snapshot& snapshot) {
    std::string text;
    for (const Library& library : snapshot.libraries)
        text += fmt::format("   {}: {} level {}, {} threads, {} events{}\n",
                            file_name(library.path), side_name(library.side), level_text(library),
                            library.threads.size(), event_count(library),
                            library.lost ? fmt::format(", {} lost", library.lost) : "");
    return text;
}

std::string to_table(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all) {
    const bool chosen = is_about_connections(snapshots, timeline, all);
    std::string text = heading(snapshots, timeline);
    for (const Event& event : timeline.events) {
        const auto connection = timeline.connection_of(event);
        if (chosen && !connection) continue;
        const std::string thread = event.thread->name.empty() ? "" : " " + event.thread->name;
        text +=
            fmt::format("{} {} {}{} {:4} {}{}\n", time_text(event.time_ns), name_of(event.source),
                        event.thread->id, printable(thread), side_name(event.library->side),
                        connection ? fmt::format("[{}] ", *connection + 1) : "",
                        printable(support::to_text(*event.record)));
    }
    return text;
}

std::string to_json(std::span<const Snapshot> snapshots, const Timeline& timeline, bool all) {
    const bool chosen = is_about_connections(snapshots, timeline, all);
    std::string text =
        fmt::format("{{\"tool\":\"dat_trace\",\"version\":{},\"sources\":[", kJsonVersion);
    for (std::size_t i = 0; i < snapshots.size(); ++i)
        text += fmt::format(
            "{}{{\"name\":\"{}\",\"source\":{},\"program\":{},\"host\":{},\"pid\":{},"
            "\"shift_ns\":{},\"libraries\":[{}]}}",
            i ? "," : "", name_of(i), quoted(snapshots[i].source), quoted(snapshots[i].program),
            quoted(snapshots[i].host), snapshots[i].pid, timeline.shifts[i],
            json_libraries(snapshots[i]));
    text += "],\n\"connections\":[";
    for (std::size_t i = 0; i < timeline.connections.size(); ++i) {
        text += fmt::format("{}{{\"number\":{},\"ends\":[", i ? "," : "", i + 1);
        const char* between = "";
        for (const End& end : timeline.connections[i].ends) {
            text += fmt::format("{}{{\"source\":\"{}\",\"object\":\"{:#x}\",\"port\":{}}}", between,
                                name_of(end.source), end.object, end.port);
            between = ",";
        }
        text += "]}";
    }
    text += "],\n\"events\":[";
    const char* between = "\n";
    for (const Event& event : timeline.events) {
        const auto connection = timeline.connection_of(event);
        if (chosen && !connection) continue;
        text += between + json_event(event, connection);
        between = ",\n";
    }
    return text + "]}\n";
}

}  // namespace tracing
