// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Writes the lines. The only source file that includes spdlog, header-only and hidden.
/// Synchronous: when report() returns, the line is written. The loggers are private: spdlog's
/// registry belongs to the application.
/// Prints directly.
#define FMT_HEADER_ONLY
#define SPDLOG_HEADER_ONLY
#define SPDLOG_NO_TLS
#include "support/log/log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <syslog.h>

#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "support/base/limits.hpp"
#include "support/log/captured_messages.hpp"
#include "support/log/log_sinks.hpp"
#include "support/log/trace_dump.hpp"
#include "support/settings/settings.hpp"
#include "support/thread/thread_errors.hpp"

namespace support {
namespace {

/// fmt::format in other files calls this function, so it must exist here even if the compiler
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

int syslog_priority(spdlog::level::level_enum level) {
    switch (level) {
        case spdlog::level::err:
            return LOG_ERR;
        case spdlog::level::warn:
            return LOG_WARNING;
        case spdlog::level::info:
            return LOG_INFO;
        default:
            return LOG_DEBUG;
    }
}

/// spdlog's own sink calls openlog() and closelog(), whose state the application shares.
class SyslogSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        const int length = static_cast<int>(line.size());
        syslog(LOG_USER | syslog_priority(message.level), "%.*s", length, line.data());
    }
    void flush_() override {}
};

/// Writes whole lines, and renames the file before it would become too large.
class FileSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  public:
    FileSink(LogFile& file, const std::string& name) : file_(file), name_(name) {}

  private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        const auto largest = static_cast<std::size_t>(setting_integer(Setting::kLogSize)) * 1024;
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        const std::size_t size = file_.size();
        if (size > 0 && size + line.size() > largest) file_.rename_to(older_names());
        if (file_.fault().empty()) file_.append({line.data(), line.size()});
    }
    void flush_() override {}

    /// "a.1.log", "a.2.log", …
    std::vector<std::string> older_names() const {
        const auto count = static_cast<std::size_t>(setting_integer(Setting::kLogCount));
        std::vector<std::string> names;
        for (std::size_t i = 1; i <= count; ++i)
            names.push_back(spdlog::sinks::rotating_file_sink_st::calc_filename(name_, i));
        return names;
    }

    LogFile& file_;
    const std::string& name_;
};

/// Writes one line through a logger made for it. A permanent logger would be destroyed at exit,
/// when other threads and destructors of other libraries may still report, and its lock could be
/// held by a thread that a forked child does not have. Lines stay whole through the stream's own
/// lock, which fork respects, or the file's.
void write_to(spdlog::sink_ptr sink, Level level, const std::string& line,
              const char* pattern = "%n: %l: %v") {
    spdlog::logger logger("opendat", std::move(sink));
    logger.set_level(spdlog::level::trace);  // trace_level() decides; nothing is filtered here
    logger.set_pattern(pattern);
    logger.log(spdlog_level(level), line);
}

void write_to_stderr(Level level, const std::string& line) {
    write_to(std::make_shared<spdlog::sinks::stderr_sink_st>(), level, line);
}

/// Replaces control characters: one from a file or a peer must not forge a second line or move the
/// terminal's cursor.
std::string one_line(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return text;
}

/// Has no destructor, which would keep the library mapped.
[[gnu::tls_model("initial-exec")]] thread_local CapturedMessages* g_listening = nullptr;

/// Formats text and next step at once and splits the result, because the next step's arguments come
/// after the text's.
CapturedMessage captured(const Message& message, fmt::format_args arguments) {
    constexpr char kSeam = '\0';
    const std::string both =
        fmt::vformat(std::string(message.text) + kSeam + message.next_step, arguments);
    const std::size_t seam = both.rfind(kSeam);
    return {&message, one_line(both.substr(0, seam)), one_line(both.substr(seam + 1))};
}

std::string text_of(const Message& message, fmt::format_args arguments) {
    std::string format = message.text;
    if (*message.next_step) format.append("; ").append(message.next_step);
    return fmt::format("{} [{}]", fmt::vformat(format, arguments), message.id);
}

/// Reports to stderr, once, that the log file cannot be written.
void tell_no_file(const std::string& file, const std::string& cause) {
    static std::atomic<bool> told;
    if (told.exchange(true)) return;
    write_to_stderr(kNoLogFile.level, text_of(kNoLogFile, fmt::make_format_args(file, cause)));
}

/// @return false when the file cannot be written.
bool write_to_file(const std::string& file, Level level, const std::string& line) {
    LogFile held(file);
    if (!held.fault().empty()) {
        tell_no_file(file, held.fault());
        return false;
    }
    write_to(std::make_shared<FileSink>(held, file), level, line,
             "%Y-%m-%d %H:%M:%S.%f %P %t %l: %v");
    return true;
}

void write_line(Level level, const std::string& line) {
    const LogDestinations destinations = log_destinations();
    bool to_stderr = destinations.to_stderr;
    if (!destinations.file.empty() && !write_to_file(destinations.file, level, line))
        to_stderr = true;
    if (destinations.to_syslog) write_to(std::make_shared<SyslogSink>(), level, line);
    if (to_stderr) write_to_stderr(level, line);
}

void tell(const Message& message, fmt::format_args arguments) {
    if (g_listening) return g_listening->add(captured(message, arguments));
    if (support::trace_level() < static_cast<int>(message.level)) return;
    const bool failed = message.level == Level::kError;
    trace_record(failed, TraceEvent::kMessage, static_cast<std::uint32_t>(atoi(message.id + 3)), 0,
                 static_cast<std::uint64_t>(message.level));
    write_line(message.level, one_line(text_of(message, arguments)));
    dump_after(message.level);
}

/// Reports a message when there is no memory to format it: only its id, by which dat_strerror finds
/// the rest.
void tell_without_memory(const Message& message) {
    char line[192];
    const int length =
        snprintf(line, sizeof line,
                 "opendat: error: no memory is left for the text of this message; %s [%s]\n",
                 advice_on_memory().data(), message.id);
    [[maybe_unused]] const ssize_t put =
        ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

}  // namespace

ThreadErrors& thread_errors() {
    // Has no destructor, which would keep the library mapped.
    [[gnu::tls_model("initial-exec")]] static thread_local ThreadErrors errors;
    return errors;
}

CapturedMessages::CapturedMessages() : outer_(std::exchange(g_listening, this)) {}

CapturedMessages::~CapturedMessages() {
    g_listening = outer_;
}

namespace detail {

void report(const Message& message, fmt::format_args arguments) {
    if (message.level == Level::kError) {
        ++thread_errors().count;
        if (thread_errors().silenced) return;
    }
    try {
        tell(message, arguments);
    } catch (const std::bad_alloc&) {
        tell_without_memory(message);
    }
}
void write(Level level, const std::string& line) {
    write_line(level, one_line(line));
}

void trace(Level level, fmt::string_view format, fmt::format_args arguments) try {
    write_line(level, one_line(fmt::vformat(format, arguments)));
} catch (const std::bad_alloc&) {
    // The line is lost: the traced operation must not fail because of it.
}

}  // namespace detail
}  // namespace support
