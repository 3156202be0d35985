// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/fabric/directory.hpp"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "dapl/support/log.hpp"
#include "dapl/support/settings.hpp"

namespace softverbs {
namespace {

constexpr int kListenBacklog = 4096;  // the kernel lowers it to somaxconn

UniqueFd seqpacket_socket() {
    return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

tl::unexpected<int> refuse(const std::string& path, const std::string& why) {
    support::report<support::kFabricRefused>(path, why);
    return tl::unexpected(EACCES);
}

/// What is wrong with a directory that others could have prepared for us; empty when nothing is.
std::string fault_of(const struct stat& status) {
    if (status.st_uid != geteuid())
        return fmt::format("it belongs to user {}, not to {}", status.st_uid, geteuid());
    if (status.st_mode & 077)
        return fmt::format("other users may enter it (mode {:04o})", status.st_mode & 07777);
    return {};
}

}  // namespace

Result<std::unique_ptr<Directory>> Directory::open() {
    return open(chosen_path());
}

std::string Directory::chosen_path() {
    const std::string chosen = support::setting_text(support::Setting::kSoftverbsFabric);
    if (!chosen.empty()) return chosen;
    const std::string name = fmt::format("softverbs-{}", geteuid());
    const bool shared_memory = access("/dev/shm", W_OK | X_OK) == 0;
    return (shared_memory ? "/dev/shm/" : "/tmp/") + name;
}

Result<std::unique_ptr<Directory>> Directory::open(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        const int error = errno;
        support::report<support::kFabricUnusable>(path, strerror(error));
        return tl::unexpected(error);
    }
    auto opened = open_existing(path);
    if (opened && !*opened) {  // somebody has removed it at once
        support::report<support::kFabricUnusable>(path, strerror(ENOENT));
        return tl::unexpected(ENOENT);
    }
    return opened;
}

Result<std::unique_ptr<Directory>> Directory::open_existing(const std::string& path) {
    // O_NOFOLLOW: in /tmp a stranger may have put a link where the directory is expected.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) {
        if (errno == ENOENT) return std::unique_ptr<Directory>();
        if (errno == ELOOP || errno == ENOTDIR) return refuse(path, "it is a link or no directory");
        const int error = errno;
        support::report<support::kFabricUnusable>(path, strerror(error));
        return tl::unexpected(error);
    }
    struct stat status = {};
    if (fstat(fd.get(), &status) != 0) return tl::unexpected(errno);
    if (const std::string fault = fault_of(status); !fault.empty()) return refuse(path, fault);
    return std::unique_ptr<Directory>(new Directory(std::move(fd), path));
}

/// Through /proc/self/fd any depth fits into sun_path's 108 bytes, and a renamed or replaced path
/// cannot lead to another directory than the one that was checked. Without /proc the plain path has
/// to do.
int Directory::address(const std::string& name, sockaddr_un& address, unsigned& length) const {
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

Result<UniqueFd> Directory::listen(const std::string& name) const {
    sockaddr_un where;
    unsigned length = 0;
    if (const int error = address(name, where, length)) return tl::unexpected(error);
    UniqueFd socket = seqpacket_socket();
    if (!socket.valid() ||
        bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), length) != 0 ||
        ::listen(socket.get(), kListenBacklog) != 0)
        return tl::unexpected(errno);
    return socket;
}

Result<UniqueFd> Directory::connect(const std::string& name) const {
    sockaddr_un where;
    unsigned length = 0;
    if (const int error = address(name, where, length)) return tl::unexpected(error);
    UniqueFd socket = seqpacket_socket();
    if (!socket.valid() ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), length) != 0)
        return tl::unexpected(errno);
    return socket;
}

void Directory::remove(const std::string& name) const {
    unlinkat(fd_.get(), name.c_str(), 0);
}

std::vector<std::string> Directory::entries() const {
    std::vector<std::string> names;
    UniqueFd copy(openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* entries = copy.valid() ? fdopendir(copy.get()) : nullptr;
    if (!entries) return names;
    copy.release();  // closedir() closes it
    while (const dirent* entry = readdir(entries)) names.emplace_back(entry->d_name);
    closedir(entries);
    return names;
}

void Directory::remove_all(const std::string& prefix) const {
    for (const std::string& name : entries())
        if (name.starts_with(prefix)) remove(name);
}

}  // namespace softverbs
