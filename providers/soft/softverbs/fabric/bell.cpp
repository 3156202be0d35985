// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Bells are Unix datagram sockets: an unconnected receiver, and senders that are connected to it.
/// A receiver whose queue is full is readable, so a ring that finds the queue full is not lost.
#include "providers/soft/softverbs/fabric/bell.hpp"

#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace softverbs {
namespace {

int option(int fd, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

}  // namespace

bool ring_bell(int socket) {
    constexpr int kTries = 100;  // while the kernel lacks memory
    const char token = 0;
    for (int i = 0; i < kTries; ++i) {
        // Not send(), which is a cancellation point: requesters ring with locks held.
        if (syscall(SYS_sendto, socket, &token, sizeof token, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr,
                    0) >= 0)
            return true;
        if (errno == EAGAIN) return true;
        if (errno != ENOMEM && errno != ENOBUFS && errno != EINTR) return false;
        sched_yield();
    }
    return false;
}

bool is_bell_socket(int fd) {
    return option(fd, SO_DOMAIN) == AF_UNIX && option(fd, SO_TYPE) == SOCK_DGRAM;
}

Result<Bell> Bell::make() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) return tl::unexpected(errno);
    Bell bell{UniqueFd(ends[0]), UniqueFd(ends[1])};
    // Unconnected, it accepts datagrams from every sender that can reach it.
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    if (connect(bell.fd(), &nobody, sizeof nobody) != 0) return tl::unexpected(errno);
    return bell;
}

void Bell::clear() const {
    constexpr int kMost = 64;
    char token;
    for (int i = 0; i < kMost; ++i) {
        if (recv(fd(), &token, sizeof token, MSG_DONTWAIT) < 0 && errno != EINTR) return;
    }
}

Result<UniqueFd> Bell::lend(const Directory& directory, const std::string& name) {
    if (name_.empty()) {
        std::string kept = name;
        if (auto bound = directory.bind(fd(), name); !bound) return tl::unexpected(bound.error());
        name_ = std::move(kept);
    }
    return directory.connect_datagrams(name);
}

}  // namespace softverbs
