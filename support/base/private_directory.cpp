// SPDX-License-Identifier: BSD-2-Clause
#include "support/base/private_directory.hpp"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>

#include "support/base/report.hpp"

namespace support {
namespace {

using Fault = PrivateDirectory::Fault;

tl::unexpected<Fault> system_fault(int error) {
    return tl::unexpected(Fault{error, false, strerror(error)});
}

tl::unexpected<Fault> refusal(std::string why) {
    return tl::unexpected(Fault{EACCES, true, std::move(why)});
}

/// @return what is wrong with a directory that others could have prepared for us; empty when
/// nothing is.
std::string fault_of(const struct stat& status, uid_t owner) {
    if (status.st_uid != owner)
        return fmt::format("it belongs to user {}, not to {}", status.st_uid, owner);
    if (status.st_mode & 077)
        return fmt::format("other users have access to it (mode {:04o})", status.st_mode & 07777);
    return {};
}

struct Naming {
    const char* prefix;
    const char* settings;
};
constexpr Naming kNaming[] = {
    {"softverbs", "SOFTVERBS_FABRIC"},
    {"opendat", "OPENDAT_STATUS_DIRECTORY and OPENDAT_REGISTRATION_DIRECTORY"}};

void report_once(PrivateDirectory::Purpose purpose, const std::string& usual,
                 const std::string& chosen) {
    static std::atomic<bool> is_reported[std::size(kNaming)];
    const auto index = static_cast<std::size_t>(purpose);
    if (!is_reported[index].exchange(true))
        report<kDirectoryElsewhere>(usual, chosen, kNaming[index].settings);
}

}  // namespace

std::string PrivateDirectory::default_path(Purpose purpose, uid_t user) {
    constexpr int kNames = 4;
    const char* const prefix = kNaming[static_cast<std::size_t>(purpose)].prefix;
    const bool shared_memory = access("/dev/shm", W_OK | X_OK) == 0;
    std::string first = fmt::format("{}/{}-{}", shared_memory ? "/dev/shm" : "/tmp", prefix, user);
    std::string chosen;
    for (int number = 1; number <= kNames; ++number) {
        std::string path = number == 1 ? first : fmt::format("{}-{}", first, number);
        struct stat status = {};
        const bool exists = lstat(path.c_str(), &status) == 0;
        const bool is_owned = exists && status.st_uid == user;
        if (is_owned || (!exists && chosen.empty())) chosen = std::move(path);
        if (is_owned) break;
    }
    if (chosen.empty()) return first;
    if (chosen != first && user == geteuid()) report_once(purpose, first, chosen);
    return chosen;
}

PrivateDirectory::Result<PrivateDirectory> PrivateDirectory::open(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_fault(errno);
    return open_existing(path, geteuid());
}

PrivateDirectory::Result<PrivateDirectory> PrivateDirectory::open_existing(const std::string& path,
                                                                           uid_t owner) {
    // O_NOFOLLOW: in /tmp another user may have put a link where the directory is expected.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) {
        const int error = errno;
        if (error == ELOOP || error == ENOTDIR) return refusal("it is a link or no directory");
        return system_fault(error);
    }
    struct stat status = {};
    if (fstat(fd.get(), &status) != 0) return system_fault(errno);
    if (std::string fault = fault_of(status, owner); !fault.empty())
        return refusal(std::move(fault));
    return PrivateDirectory(std::move(fd), path);
}

/// Uses /proc/self/fd, through which any depth fits into sun_path's 108 bytes, and a renamed or
/// replaced path cannot lead to another directory than the one that was checked. Without /proc it
/// uses the plain path.
int PrivateDirectory::address(const std::string& name, sockaddr_un& address,
                              unsigned& length) const {
    std::string text = fmt::format("/proc/self/fd/{}", fd_.get());
    if (access(text.c_str(), X_OK) != 0) text = path_;
    text += "/" + name;
    if (text.size() >= sizeof address.sun_path) return ENAMETOOLONG;
    address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
    length = static_cast<unsigned>(offsetof(sockaddr_un, sun_path) + text.size() + 1);
    return 0;
}

void PrivateDirectory::remove(const std::string& name) const {
    unlinkat(fd_.get(), name.c_str(), 0);
}

std::vector<std::string> PrivateDirectory::entries() const {
    std::vector<std::string> names;
    UniqueFd copy(openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct Close {
        void operator()(DIR* directory) const { closedir(directory); }
    };
    const std::unique_ptr<DIR, Close> entries(copy.valid() ? fdopendir(copy.get()) : nullptr);
    if (!entries) return names;
    copy.release();  // closedir() closes it
    while (const dirent* entry = readdir(entries.get())) names.emplace_back(entry->d_name);
    return names;
}

}  // namespace support
