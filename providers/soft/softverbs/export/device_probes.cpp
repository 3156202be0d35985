// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Provides a node of each device for programs that look for one before they list devices: UCX
/// calls stat() and access() on /dev/infiniband/NAME. Every other path goes unchanged to the next
/// function in the process (another preloaded library's, or libc's).
///
/// The functions here may be called in signal handlers, as libc's may: the next functions are
/// looked up when the library is loaded.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "providers/soft/softverbs/export/export.hpp"
#include "providers/soft/softverbs/fabric/devices.hpp"

namespace {

constexpr std::string_view kNode = "/dev/infiniband/softverbs";  // and the device's number

/// How many nodes there are. The constructor sets it: a setting is not read in a signal handler.
unsigned nodes = 1;

bool is_node(const char* path) {
    if (!path || std::strncmp(path, kNode.data(), kNode.size()) != 0) return false;
    const char* const number = path + kNode.size();
    unsigned device = 0;
    const auto [rest, error] = std::from_chars(number, number + std::strlen(number), device);
    const bool is_canonical = *number != '0' || rest == number + 1;
    return error == std::errc() && *rest == '\0' && is_canonical && device < nodes;
}

/// The next function of this name and version: libc's, or that of a library between us and libc.
template <class Function>
class Next {
  public:
    constexpr Next(const char* name, const char* version) : name_(name), version_(version) {}
    Function* find() {
        void* found = dlvsym(RTLD_NEXT, name_, version_);
        if (!found) found = dlsym(RTLD_NEXT, name_);
        function_.store(reinterpret_cast<Function*>(found), std::memory_order_release);
        return function_.load();
    }
    template <class... Arguments>
    int operator()(Arguments... arguments) {
        Function* function = function_.load(std::memory_order_acquire);
        // Called by another library's constructor, before ours.
        if (!function) function = find();
        if (function) return function(arguments...);
        errno = ENOSYS;
        return -1;
    }

  private:
    const char* const name_;
    const char* const version_;
    std::atomic<Function*> function_{nullptr};
};

using Access = int(const char*, int);
using AccessAt = int(int, const char*, int, int);
using Stat = int(const char*, struct stat*);
using VersionedStat = int(int, const char*, struct stat*);

constinit Next<Access> next_access{"access", "GLIBC_2.2.5"};
constinit Next<AccessAt> next_faccessat{"faccessat", "GLIBC_2.4"};
constinit Next<Stat> next_stat{"stat", "GLIBC_2.33"};
constinit Next<Stat> next_stat64{"stat64", "GLIBC_2.33"};
constinit Next<VersionedStat> next_xstat{"__xstat", "GLIBC_2.2.5"};
constinit Next<VersionedStat> next_xstat64{"__xstat64", "GLIBC_2.2.5"};

[[gnu::constructor]] void find_what_comes_next() {
    nodes = softverbs::device_count();
    next_access.find();
    next_faccessat.find();
    next_stat.find();
    next_stat64.find();
    next_xstat.find();
    next_xstat64.find();
}

/// Grants access for reading and writing only.
int access_node(int mode) {
    if ((mode & X_OK) == 0) return 0;
    errno = EACCES;
    return -1;
}

/// Describes the node as a character device of this user.
int describe_node(struct stat* status) {
    std::memset(status, 0, sizeof *status);
    status->st_mode = S_IFCHR | S_IRUSR | S_IWUSR;
    status->st_nlink = 1;
    status->st_uid = geteuid();
    status->st_gid = getegid();
    status->st_blksize = 4096;
    return 0;
}

}  // namespace

// libsoftverbs.map gives these glibc's version names, without which they would not replace glibc's
// functions.

EXPORTED int access(const char* path, int mode) noexcept {
    return is_node(path) ? access_node(mode) : next_access(path, mode);
}

EXPORTED int faccessat(int directory, const char* path, int mode, int flags) noexcept {
    return is_node(path) ? access_node(mode) : next_faccessat(directory, path, mode, flags);
}

EXPORTED int stat(const char* __restrict path, struct stat* __restrict status) noexcept {
    return is_node(path) ? describe_node(status) : next_stat(path, status);
}

// NOLINTNEXTLINE(readability-identifier-naming): the C library's
EXPORTED int __xstat(int version, const char* path, struct stat* status) noexcept {
    return is_node(path) ? describe_node(status) : next_xstat(version, path, status);
}

#if defined(__LP64__)  // the two structures are one
static_assert(sizeof(struct stat) == sizeof(struct stat64));

EXPORTED int stat64(const char* __restrict path, struct stat64* __restrict status) noexcept {
    auto* same = reinterpret_cast<struct stat*>(status);
    return is_node(path) ? describe_node(same) : next_stat64(path, same);
}

// NOLINTNEXTLINE(readability-identifier-naming): the C library's
EXPORTED int __xstat64(int version, const char* path, struct stat64* status) noexcept {
    auto* same = reinterpret_cast<struct stat*>(status);
    return is_node(path) ? describe_node(same) : next_xstat64(version, path, same);
}
#endif
