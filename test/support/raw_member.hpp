// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A hand-made member of a fabric, which can send malformed records: opens links to the device of
/// this process and uses them directly.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "providers/soft/softverbs/arena/layout.hpp"
#include "providers/soft/softverbs/fabric/handshake.hpp"

namespace test {

using softverbs::MessageHeader;
using softverbs::UniqueFd;

/// @return the sockets on which the members of a fabric accept links.
inline std::vector<std::string> doors(const std::string& fabric) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(fabric)) {
        const bool is_bell = entry.path().filename().string().find('.') != std::string::npos;
        if (entry.is_socket() && !is_bell) found.push_back(entry.path());
    }
    return found;
}

/// @return a link to the socket, invalid if nobody listens.
inline UniqueFd link_to(const std::string& door) {
    UniqueFd link(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un where = {};
    where.sun_family = AF_UNIX;
    strncpy(where.sun_path, door.c_str(), sizeof where.sun_path - 1);
    if (connect(link.get(), reinterpret_cast<sockaddr*>(&where), sizeof where) != 0) link.reset();
    return link;
}

/// @return a link to the only member of the fabric, invalid if there is none.
inline UniqueFd raw_link(const std::string& fabric) {
    const auto found = doors(fabric);
    return found.empty() ? UniqueFd() : link_to(found.back());
}

/// @return a socket that passes as a doorbell; nobody listens to it.
inline UniqueFd silent_bell() {
    return UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

/// @return with the default seals a valid arena, all zeros.
inline UniqueFd sealed_memory(std::uint64_t size, unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW) {
    UniqueFd fd(memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) fd.reset();
    if (fd.valid() && seals != 0) fcntl(fd.get(), F_ADD_SEALS, seals);
    return fd;
}

inline void send_raw(int link, const MessageHeader& header, std::span<const std::byte> body,
                     std::span<const int> fds = {}) {
    (void)softverbs::send_record(link, softverbs::record_of(header, body), fds);
}

/// @param member ID that the sender claims to have.
inline void greet(int link, std::uint64_t fabric, std::uint64_t member, std::span<const int> fds) {
    softverbs::Hello hello{};
    hello.version = softverbs::kFabricVersion;
    hello.slot = 9;
    hello.member = member;
    hello.fabric = fabric;
    hello.arena_size = softverbs::kArenaSize;
    const MessageHeader header = {static_cast<std::uint16_t>(softverbs::MessageType::kHello), 0,
                                  sizeof hello, 0};
    send_raw(link, header, softverbs::bytes_of(hello), fds);
}

/// Shuts down the sending direction and waits until the other end has read everything and closed.
inline void finish(UniqueFd& link) {
    shutdown(link.get(), SHUT_WR);
    std::vector<std::byte> ignored(70000);
    while (recv(link.get(), ignored.data(), ignored.size(), 0) > 0) continue;
}

}  // namespace test
