// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/finding_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "support/base/guard.hpp"
#include "support/base/json_writer.hpp"
#include "support/base/unique_fd.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace check {
namespace {

std::string line_of(const LoggedFinding& finding) {
    support::JsonWriter json;
    json.begin_object();
    json.number("process", static_cast<std::int64_t>(getpid()));
    json.text("message", finding.message);
    json.text("check", finding.check);
    json.text("call", finding.call);
    json.text("place", finding.place);
    json.text("text", finding.text);
    json.end_object();
    return json.take() + "\n";
}

void tell_unusable(const std::string& path) {
    static std::atomic<bool> told{false};
    const std::string reason = strerror(errno);
    support::report_once(told, [&] { support::report<support::kCheckLogUnusable>(path, reason); });
}

}  // namespace

void log_finding(const LoggedFinding& finding) {
    const std::string path = support::setting_text(support::Setting::kCheckLog);
    if (path.empty()) return;
    constexpr int kOnlyForUser = 0600;
    const support::UniqueFd file(
        open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kOnlyForUser));
    const std::string line = line_of(finding);
    // One write, so that lines of several processes do not mix.
    if (file.get() < 0 ||
        write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        tell_unusable(path);
}

}  // namespace check
