// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A program's own TCP connection over the loopback interface, for tests of sockets that become
/// endpoints. Failures are exceptions, so that they work in children too.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "test/support/process.hpp"

namespace test {

using Octets = std::vector<std::byte>;

class Stream {
  public:
    explicit Stream(int number = -1) : number_(number) {}
    Stream(Stream&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Stream& operator=(Stream&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Stream() {
        if (number_ >= 0) ::close(number_);
    }
    int number() const { return number_; }

    void say(std::span<const std::byte> bytes) const {
        require(::send(number_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                    static_cast<ssize_t>(bytes.size()),
                "the stream takes the bytes");
    }
    void say(const std::string& words) const { say(std::as_bytes(std::span(words))); }
    /// Reads so many bytes, fewer if the stream ends before.
    Octets next(std::size_t count) const {
        Octets bytes(count);
        std::size_t size = 0;
        while (size < count) {
            require(is_readable(number_), "there is more in the stream in time");
            const ssize_t got = recv(number_, bytes.data() + size, count - size, 0);
            if (got <= 0) break;
            size += static_cast<std::size_t>(got);
        }
        bytes.resize(size);
        return bytes;
    }
    void hear(const std::string& words) const {
        const Octets bytes = next(words.size());
        const std::string heard(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        require(heard == words, "the stream has '" + words + "', not '" + heard + "'");
    }
    void hear_the_end() const { require(next(1).empty(), "the stream has ended"); }

  private:
    int number_;
};

inline sockaddr_storage loopback(int family, std::uint16_t port) {
    sockaddr_storage address{};
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET6)
        reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr = in6addr_loopback;
    else
        reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(port);  // of both families
    return address;
}
inline bool has_loopback(int family) {
    const Stream socket(::socket(family, SOCK_STREAM, 0));
    const sockaddr_storage address = loopback(family, 0);
    return bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// A listening socket on a port that the system chooses.
class Door {
  public:
    explicit Door(int family = AF_INET) : socket_(::socket(family, SOCK_STREAM, 0)) {
        sockaddr_storage address = loopback(family, 0);
        auto* const raw = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        require(bind(socket_.number(), raw, size) == 0 && listen(socket_.number(), 8) == 0,
                "a socket listens");
        require(getsockname(socket_.number(), raw, &size) == 0, "it has a port");
        port_ = ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    }
    std::uint16_t port() const { return port_; }
    Stream next() const { return Stream(accept(socket_.number(), nullptr, nullptr)); }

  private:
    Stream socket_;
    std::uint16_t port_ = 0;
};

inline Stream dial(std::uint16_t port, int family = AF_INET) {
    Stream socket(::socket(family, SOCK_STREAM, 0));
    const sockaddr_storage address = loopback(family, port);
    require(::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof address) == 0,
            "a socket connects");
    return socket;
}

/// @return the two ends of a connection.
inline std::pair<Stream, Stream> connected_streams(int family = AF_INET) {
    const Door door(family);
    Stream one = dial(door.port(), family);
    return {std::move(one), door.next()};
}

}  // namespace test
