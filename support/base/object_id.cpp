// SPDX-License-Identifier: BSD-2-Clause
#include "support/base/object_id.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>

#include "support/base/unique_fd.hpp"

#ifndef SO_COOKIE  // Linux 4.12
#define SO_COOKIE 57
#endif

namespace support {
namespace {

constexpr int kBlockShift = 32;
constexpr int kKindShift = 28;
constexpr std::uint64_t kLastSerial = (std::uint64_t{1} << kKindShift) - 1;
/// Set in blocks that are chosen at random; the kernel's numbers do not reach it.
constexpr std::uint32_t kRandom = std::uint32_t{1} << 31;

/// @return whether the kernel counts socket cookies per machine; earlier kernels count them per
/// network name space.
bool cookies_are_counted_for_the_machine() {
    utsname system;
    int major = 0;
    int minor = 0;
    return uname(&system) == 0 && std::sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 4));
}

/// @return a number that the kernel gives to one socket only, whatever name spaces the processes
/// are in; 0 when there is none.
std::uint32_t socket_cookie() {
    const UniqueFd made(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    if (!made.valid() || getsockopt(made.get(), SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0)
        return 0;
    return static_cast<std::uint32_t>(cookie) & ~kRandom;
}

/// @return a block number, never 0.
std::uint32_t new_block() {
    if (cookies_are_counted_for_the_machine())
        if (const std::uint32_t cookie = socket_cookie()) return cookie;
    std::uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = static_cast<std::uint32_t>(getpid());
    return number | kRandom;
}

}  // namespace

std::uint64_t ObjectIds::next(std::uint32_t kind) {
    std::uint64_t last = last_.load(std::memory_order_relaxed);
    std::uint64_t id;
    do {
        const bool used_up = last == 0 || (last & kLastSerial) == kLastSerial;
        id = used_up ? std::uint64_t{new_block()} << kBlockShift : last + 1;
    } while (!last_.compare_exchange_weak(last, id, std::memory_order_relaxed));
    return id | std::uint64_t{kind} << kKindShift;
}

}  // namespace support
