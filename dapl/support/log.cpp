// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The one source file that includes spdlog, header-only and hidden. Synchronous: when report()
/// returns, the line is written. Private loggers: spdlog's registry belongs to the application.
#define FMT_HEADER_ONLY
#define SPDLOG_HEADER_ONLY
#include "dapl/support/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

#include "dapl/support/settings.hpp"
#include "dapl/support/thread_errors.hpp"

namespace support {
namespace {

/// fmt::format in other files calls it: here it must exist as a function, however the compiler
/// inlines it.
[[gnu::used]] std::string (*const kept_vformat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

spdlog::level::level_enum spdlog_level(Level level) {
    switch (level) {
        case Level::kError:
            return spdlog::level::err;
        case Level::kWarning:
            return spdlog::level::warn;
        case Level::kInfo:
            return spdlog::level::info;
        case Level::kDebug:
            return spdlog::level::debug;
        case Level::kTrace:
            return spdlog::level::trace;
    }
    return spdlog::level::err;
}

/// A logger for one line. One that stays would be destroyed at exit, when other threads and other
/// libraries' destructors may still report, and its lock could be held by a thread that a forked
/// child does not have. Lines stay whole by the stream's own lock, which fork respects.
void write_line(Level level, const std::string& line) {
    spdlog::logger logger("opendat", std::make_shared<spdlog::sinks::stderr_sink_st>());
    logger.set_level(spdlog::level::trace);  // trace_level() decides, here nothing is filtered
    logger.set_pattern("%n: %l: %v");
    logger.log(spdlog_level(level), line);
}

/// A control character from a file or a peer must not forge a second line or move the terminal's
/// cursor.
std::string one_line(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return text;
}

}  // namespace

ThreadErrors& thread_errors() {
    // Without a destructor, which would keep the library mapped.
    static thread_local ThreadErrors errors;
    return errors;
}

void set_trace_level(int level) {
    const TraceLevels levels(level);
    opendat_trace_object.level.store(levels.level, std::memory_order_relaxed);
    opendat_trace_object.data_path.store(levels.data_path, std::memory_order_relaxed);
}

namespace detail {

int initial_trace_level() {
    // Stored before the setting is read: a bad value is itself reported.
    int unread = -1;
    opendat_trace_object.level.compare_exchange_strong(unread, static_cast<int>(Level::kInfo));
    const int level = static_cast<int>(setting_integer(Setting::kTraceLevel));
    set_trace_level(level);
    return level;
}

void report(const Message& message, fmt::format_args arguments) {
    if (message.level == Level::kError) {
        ++thread_errors().count;
        if (thread_errors().silenced) return;
    }
    if (support::trace_level() < static_cast<int>(message.level)) return;
    const bool failed = message.level == Level::kError;
    trace_record(failed, TraceEvent::kMessage, static_cast<std::uint32_t>(atoi(message.id + 3)), 0,
                 static_cast<std::uint64_t>(message.level));
    std::string format = message.text;
    if (*message.next_step) format.append("; ").append(message.next_step);
    const std::string text = one_line(fmt::vformat(format, arguments));
    write_line(message.level, fmt::format("{} [{}]", text, message.id));
}

void trace(Level level, fmt::string_view format, fmt::format_args arguments) {
    write_line(level, one_line(fmt::vformat(format, arguments)));
}

}  // namespace detail
}  // namespace support
