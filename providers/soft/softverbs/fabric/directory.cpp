// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/directory.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "support/base/limits.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace softverbs {
namespace {

constexpr int kListenBacklog = 4096;  // the kernel lowers it to somaxconn

UniqueFd unix_socket(int type) {
    return UniqueFd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
}

/// Reports the fault to the user.
tl::unexpected<int> failure(const std::string& path,
                            const support::PrivateDirectory::Fault& fault) {
    if (support::report_limit(fault.error, "the fabric directory", path.substr(0, path.rfind('/'))))
        return tl::unexpected(fault.error);
    if (fault.refused)
        support::report<support::kFabricRefused>(path, fault.why);
    else
        support::report<support::kFabricUnusable>(path, fault.why);
    return tl::unexpected(fault.error);
}

}  // namespace

Result<std::unique_ptr<Directory>> Directory::open() {
    return open(chosen_path());
}

std::string Directory::chosen_path() {
    std::string chosen = support::setting_text(support::Setting::kSoftverbsFabric);
    if (!chosen.empty()) return chosen;
    return support::PrivateDirectory::default_path(support::PrivateDirectory::Purpose::kFabric,
                                                   geteuid());
}

Result<std::unique_ptr<Directory>> Directory::open(const std::string& path) {
    auto opened = support::PrivateDirectory::open(path);
    if (!opened) return failure(path, opened.error());
    return std::unique_ptr<Directory>(new Directory(std::move(*opened)));
}

Result<std::unique_ptr<Directory>> Directory::open_existing(const std::string& path) {
    auto opened = support::PrivateDirectory::open_existing(path, geteuid());
    if (opened) return std::unique_ptr<Directory>(new Directory(std::move(*opened)));
    if (opened.error().error == ENOENT) return std::unique_ptr<Directory>();
    return failure(path, opened.error());
}

Result<void> Directory::bind(int socket, const std::string& name) const {
    sockaddr_un where;
    unsigned length = 0;
    if (const int error = directory_.address(name, where, length)) return tl::unexpected(error);
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&where), length) != 0)
        return tl::unexpected(errno);
    return {};
}

Result<UniqueFd> Directory::listen(const std::string& name) const {
    UniqueFd socket = unix_socket(SOCK_SEQPACKET | SOCK_NONBLOCK);
    if (!socket.valid()) return tl::unexpected(errno);
    if (auto bound = bind(socket.get(), name); !bound) return tl::unexpected(bound.error());
    if (::listen(socket.get(), kListenBacklog) != 0) return tl::unexpected(errno);
    return socket;
}

Result<UniqueFd> Directory::connect(const std::string& name) const {
    return connect(unix_socket(SOCK_SEQPACKET | SOCK_NONBLOCK), name);
}

Result<UniqueFd> Directory::connect_datagrams(const std::string& name) const {
    return connect(unix_socket(SOCK_DGRAM), name);
}

Result<UniqueFd> Directory::connect(UniqueFd socket, const std::string& name) const {
    sockaddr_un where;
    unsigned length = 0;
    if (!socket.valid()) return tl::unexpected(errno);
    if (const int error = directory_.address(name, where, length)) return tl::unexpected(error);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), length) != 0)
        return tl::unexpected(errno);
    return socket;
}

void Directory::remove_all(const std::string& prefix) const {
    for (const std::string& name : entries())
        if (name.starts_with(prefix)) remove(name);
}

}  // namespace softverbs
