// SPDX-License-Identifier: BSD-2-Clause
#include "support/log/log_sinks.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace support {
namespace {

constexpr long kReferenceStderr = 1;  ///< stdout in the reference
constexpr long kReferenceSyslog = 2;

Setting reference_setting() {
    const bool dat = opendat_trace_object.side == static_cast<std::uint32_t>(TraceSide::kDat);
    return dat ? Setting::kDatDebugDestination : Setting::kDaplDebugDestination;
}

/// @return whether the reference's setting is in force: set with more force than ours.
bool reference_holds() {
    const Setting setting = reference_setting();
    return setting_is_set(setting) && !setting_is_superseded(setting, Setting::kLog) &&
           !setting_is_superseded(setting, Setting::kLogFile);
}

LogDestinations by_reference() {
    const long bits = setting_integer(reference_setting());
    const bool to_syslog = (bits & kReferenceSyslog) != 0;
    return {(bits & kReferenceStderr) != 0 || !to_syslog, to_syslog, {}};
}

std::string file_name() {
    std::string name = setting_text(Setting::kLogFile);
    const std::size_t place = name.find("%p");
    if (place != std::string::npos) name.replace(place, 2, std::to_string(getpid()));
    return name;
}

bool first_time(std::atomic<bool>& told) {
    return !told.exchange(true, std::memory_order_relaxed);
}

void add(std::string_view word, LogDestinations& destinations) {
    if (word == "stderr") {
        destinations.to_stderr = true;
    } else if (word == "syslog") {
        destinations.to_syslog = true;
    } else if (word == "file") {
        destinations.file = file_name();
        static std::atomic<bool> told;
        if (destinations.file.empty() && first_time(told)) report<kLogFileUnnamed>();
    } else {
        static std::atomic<bool> told;
        if (first_time(told))
            report<kBadSettingValue>(setting_label(Setting::kLog), word, "stderr, file or syslog",
                                     "stderr");
        destinations.to_stderr = true;
    }
}

}  // namespace

LogDestinations log_destinations() {
    if (reference_holds()) return by_reference();
    const std::string wanted = setting_text(Setting::kLog);
    if (wanted.empty()) {
        LogDestinations destinations{true, false, file_name()};
        if (destinations.file.empty()) return by_reference();
        destinations.to_stderr = false;
        return destinations;
    }
    LogDestinations destinations{};
    for (std::size_t start = 0; start <= wanted.size();) {
        const std::size_t end = std::min(wanted.find(',', start), wanted.size());
        add(std::string_view(wanted).substr(start, end - start), destinations);
        start = end + 1;
    }
    const bool nowhere =
        !destinations.to_stderr && !destinations.to_syslog && destinations.file.empty();
    if (nowhere) destinations.to_stderr = true;
    return destinations;
}

LogFile::LogFile(std::string name) : name_(std::move(name)) {
    open_file();
}

LogFile::~LogFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

/// Opens the file with care: in a directory that others may write, the name may refer to anything.
/// A symbolic link would put our lines into another file of this user; opening a FIFO would wait
/// for a reader.
void LogFile::open_file() {
    constexpr int kFlags =
        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = open(name_.c_str(), kFlags, 0600);
    fault_ = descriptor_ < 0 && errno == ELOOP ? "it is a symbolic link" : fault_of_file();
}

std::string LogFile::fault_of_file() const {
    struct stat file = {};
    if (descriptor_ < 0 || fstat(descriptor_, &file) != 0)
        return std::generic_category().message(errno);
    if (!S_ISREG(file.st_mode)) return "it is not a regular file";
    if (file.st_uid != geteuid()) return "it belongs to another user";
    return file.st_nlink <= 1 ? "" : "it has more than one hard link";
}

bool LogFile::has_its_name() const {
    struct stat named, held;
    return fstat(descriptor_, &held) == 0 && lstat(name_.c_str(), &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

std::size_t LogFile::size() const {
    struct stat held;
    return fstat(descriptor_, &held) == 0 ? static_cast<std::size_t>(held.st_size) : 0;
}

void LogFile::append(std::string_view line) const {
    while (!line.empty()) {
        const ssize_t written = write(descriptor_, line.data(), line.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        line.remove_prefix(static_cast<std::size_t>(written));
    }
}

void LogFile::rename_to(const std::vector<std::string>& names) {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) return;
    // Another holder of the lock may have renamed it before.
    if (!names.empty() && has_its_name()) {
        // Most of these files may not exist yet.
        for (std::size_t i = names.size(); i-- > 1;) rename(names[i - 1].c_str(), names[i].c_str());
        rename(name_.c_str(), names.front().c_str());
    }
    open_file();
}

}  // namespace support
