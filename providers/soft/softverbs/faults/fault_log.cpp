// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/faults/fault_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/log/log.hpp"

namespace softverbs::faults {

FaultLog::FaultLog(const std::string& path)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (!file_.valid()) support::report<support::kFaultLogUnusable>(path, std::strerror(errno));
}

void FaultLog::write(std::string_view begin, std::uint64_t number, std::string_view end,
                     std::string_view remark) const {
    if (!file_.valid()) return;
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    tm utc;
    gmtime_r(&now.tv_sec, &utc);
    char line[1024];
    char* out = line;
    const auto left = [&] { return static_cast<std::size_t>(line + sizeof line - 1 - out); };
    out = fmt::format_to_n(out, left(), "{}", begin).out;
    if (number != 0) out = fmt::format_to_n(out, left(), "{}", number).out;
    out = fmt::format_to_n(out, left(), "{}  # {}, at {:02}:{:02}:{:02}.{:06} UTC", end, remark,
                           utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_nsec / 1000)
              .out;
    *out++ = '\n';
    // A log that cannot be written does not stop the program.
    [[maybe_unused]] const ssize_t written =
        ::write(file_.get(), line, static_cast<std::size_t>(out - line));
}

}  // namespace softverbs::faults
