// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/common/failure.hpp"

namespace tools {

namespace {

constexpr double kRetryEveryUs = 50'000;

Failure socket_failure(const std::string& call, const std::string& expected,
                       const std::string& next_step) {
    return Failure(call, std::strerror(errno), expected, next_step);
}

std::string port_name(const MeetingPoint& point) {
    return "TCP port " + std::to_string(point.port);
}

/// @return whether the descriptor is ready before the deadline.
bool wait_ready(int descriptor, short events, const Deadline& deadline) {
    for (;;) {
        pollfd entry{descriptor, events, 0};
        const int ready = poll(&entry, 1, static_cast<int>(deadline.left_us(1e6) / 1e3) + 1);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR)
            throw socket_failure("poll", "success", "report this as a fault");
        if (deadline.passed()) return false;
    }
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, const MeetingPoint& point) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int error = getaddrinfo(host.c_str(), std::to_string(point.port).c_str(), &hints, &first);
    if (error != 0) {
        throw Failure("getaddrinfo " + host, gai_strerror(error), "an address",
                      "give the name or address of the server's machine");
    }
    return {first, freeaddrinfo};
}

/// @return false with errno set.
bool listen_on_all(const Socket& socket, int family, unsigned short port) {
    const int yes = 1;
    const int no = 0;
    setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    sockaddr_storage any{};
    any.ss_family = static_cast<sa_family_t>(family);
    // The port is at the same offset in the addresses of both families.
    reinterpret_cast<sockaddr_in&>(any).sin_port = htons(port);
    const socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    return bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&any), length) == 0 &&
           listen(socket.descriptor(), 1) == 0;
}

/// @return whether TCP has connected the socket to itself: if nobody listens at a port in this
/// machine's ephemeral range, the kernel may choose that very port for the client.
bool is_connected_to_itself(const Socket& socket) {
    sockaddr_storage own{}, peer{};
    socklen_t own_length = sizeof own, peer_length = sizeof peer;
    return getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
           getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&peer), &peer_length) ==
               0 &&
           own_length == peer_length && std::memcmp(&own, &peer, own_length) == 0;
}

/// @return a connected socket, or an empty one with errno set.
Socket try_connect(const addrinfo& to, const Deadline& deadline) {
    Socket socket(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.descriptor() < 0) return Socket();
    int error = 0;
    if (connect(socket.descriptor(), to.ai_addr, to.ai_addrlen) != 0) {
        if (errno != EINPROGRESS) return Socket();
        if (!wait_ready(socket.descriptor(), POLLOUT, deadline)) {
            errno = ETIMEDOUT;
            return Socket();
        }
        socklen_t length = sizeof error;
        getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error == 0 && is_connected_to_itself(socket)) error = ECONNREFUSED;
    if (error == 0) return socket;
    errno = error;
    return Socket();
}

}  // namespace

Socket::~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
}

Socket listen_for_client(const MeetingPoint& point) {
    // An IPv6 socket accepts clients of both families. If the kernel has no IPv6, an IPv4 socket is
    // used.
    for (const int family : {AF_INET6, AF_INET}) {
        Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (socket.descriptor() >= 0 && listen_on_all(socket, family, point.port)) return socket;
        if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) break;
    }
    throw socket_failure(
        "bind to " + port_name(point), "a free port",
        format("end the %s server that already runs on this machine, or choose another port",
               point.tool));
}

Socket accept_client(const Socket& listener, const MeetingPoint& point, const Deadline& deadline) {
    for (;;) {
        if (!wait_ready(listener.descriptor(), POLLIN, deadline)) {
            throw Failure("accept on " + port_name(point), "no connection",
                          format("a client within %.0f seconds", deadline.seconds()),
                          format("start %s with this machine's name", point.client_command));
        }
        Socket client(
            accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (client.descriptor() >= 0) return client;
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            throw socket_failure("accept on " + port_name(point), "a connection",
                                 "restart both sides");
        }
    }
}

Socket connect_to_server(const std::string& host, const MeetingPoint& point,
                         const Deadline& deadline) {
    const Addresses addresses = resolve(host, point);
    // A person sees the message at once; scripts that start both sides at the same time, only if it
    // takes long.
    const Deadline silence(isatty(STDERR_FILENO) ? 0 : 1);
    bool told = false;
    for (;;) {
        int error = 0;
        for (const addrinfo* to = addresses.get(); to != nullptr; to = to->ai_next) {
            Socket socket = try_connect(*to, deadline);
            if (socket.descriptor() >= 0) return socket;
            error = errno;
        }
        if (!told && silence.passed() && !deadline.passed()) {
            std::fprintf(stderr, "%s: waiting for the server at %s %s (%s); %s starts one there\n",
                         point.tool, host.c_str(), port_name(point).c_str(), std::strerror(error),
                         point.server_command);
            told = true;
        }
        if (deadline.passed()) {
            throw Failure("connect to " + host + " " + port_name(point), std::strerror(error),
                          format("a %s server within %.0f seconds", point.tool, deadline.seconds()),
                          format("start %s there first, and check that no firewall blocks the port",
                                 point.server_command));
        }
        usleep(static_cast<useconds_t>(deadline.left_us(kRetryEveryUs)));
    }
}

void send_bytes(const Socket& socket, const void* bytes, std::size_t size, const char* what,
                const Deadline& deadline) {
    const char* from = static_cast<const char*>(bytes);
    for (std::size_t sent = 0; sent < size;) {
        const ssize_t count = send(socket.descriptor(), from + sent, size - sent, MSG_NOSIGNAL);
        if (count >= 0) {
            sent += static_cast<std::size_t>(count);
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN) {
            if (wait_ready(socket.descriptor(), POLLOUT, deadline)) continue;
            errno = ETIMEDOUT;
        }
        throw socket_failure(format("send of %s", what), "another side that reads",
                             "look at the other side's messages");
    }
}

std::size_t receive_some(const Socket& socket, void* bytes, std::size_t size, const char* what,
                         const Deadline& deadline) {
    for (;;) {
        ssize_t count = -1;
        if (wait_ready(socket.descriptor(), POLLIN, deadline)) {
            count = recv(socket.descriptor(), bytes, size, 0);
            if (count > 0) return static_cast<std::size_t>(count);
            if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (count == 0) errno = ECONNRESET;
        } else {
            errno = ETIMEDOUT;
        }
        throw socket_failure(format("receive of %s", what), "it to arrive",
                             "look at the other side's messages");
    }
}

bool peer_closed(const Socket& socket) {
    char byte;
    const ssize_t count = recv(socket.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace tools
