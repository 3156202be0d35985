// SPDX-License-Identifier: BSD-2-Clause
#include "support/base/limits.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "support/base/report.hpp"

namespace support {
namespace {

constexpr std::uint64_t kKibibyte = 1024;

rlim_t limit_of(__rlimit_resource resource) {
    rlimit limit = {};
    getrlimit(resource, &limit);
    return limit.rlim_cur;
}

std::string text_of(rlim_t limit) {
    return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

std::string files_of_machine() {
    std::ifstream file("/proc/sys/fs/file-max");
    std::string count = "unknown";
    file >> count;
    return count;
}

std::string size_of_file_system(const std::string& path) {
    struct statvfs status = {};
    if (statvfs(path.c_str(), &status) != 0) return "unknown size";
    const std::uint64_t block = status.f_frsize;
    return fmt::format("{} KiB, {} KiB free", status.f_blocks * block / kKibibyte,
                       status.f_bavail * block / kKibibyte);
}

}  // namespace

bool is_limit(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC ||
           error == EAGAIN;
}

std::array<char, 96> advice_on_memory() {
    const rlim_t limit = limit_of(RLIMIT_AS);
    if (limit == RLIM_INFINITY) return {"free memory, or raise the limit of the control group"};
    std::array<char, 96> text;
    snprintf(text.data(), text.size(), "raise RLIMIT_AS, which is %llu KiB now (`ulimit -v`)",
             static_cast<unsigned long long>(limit / kKibibyte));
    return text;
}

bool report_limit(int error, std::string_view what, const std::string& path) {
    char buffer[64];
    const char* cause = strerror_r(error, buffer, sizeof buffer);
    switch (error) {
        case EMFILE:
            return report<kNoDescriptors>(what, cause, text_of(limit_of(RLIMIT_NOFILE))), true;
        case ENFILE:
            return report<kNoFilesOnMachine>(what, cause, files_of_machine()), true;
        case ENOMEM:
            return report<kNoMemory>(what, cause, advice_on_memory().data()), true;
        case ENOSPC:
            return report<kNoSpace>(path, what, cause, size_of_file_system(path)), true;
        case EAGAIN:
            return report<kNoThread>(what, cause, text_of(limit_of(RLIMIT_NPROC)),
                                     text_of(limit_of(RLIMIT_AS))),
                   true;
        default:
            return false;
    }
}

}  // namespace support
