// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/side_channel.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "test/dtest/failure.hpp"

namespace dtest {

namespace {

constexpr double kRetryEveryUs = 50'000;

Failure socket_failure(const char* call, const char* expected, const char* next_step) {
    return Failure(call, std::strerror(errno), expected, next_step);
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

Addresses resolve(const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int error =
        getaddrinfo(host.c_str(), std::to_string(kSideChannelPort).c_str(), &hints, &first);
    if (error != 0) {
        throw Failure("getaddrinfo " + host, gai_strerror(error), "an address",
                      "give -h the name or address of the server's machine");
    }
    return {first, freeaddrinfo};
}

/// @return a connected socket; else an empty one, with errno of the failure.
Socket try_connect(const addrinfo& to, const Deadline& deadline) {
    Socket socket(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.descriptor() < 0) return Socket();
    if (connect(socket.descriptor(), to.ai_addr, to.ai_addrlen) == 0) return socket;
    if (errno != EINPROGRESS) return Socket();
    if (!wait_ready(socket.descriptor(), POLLOUT, deadline)) {
        errno = ETIMEDOUT;
        return Socket();
    }
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0) return socket;
    errno = error;
    return Socket();
}

}  // namespace

Socket::~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
}

Socket listen_for_client() {
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(kSideChannelPort);
    setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
        listen(socket.descriptor(), 1) != 0) {
        throw socket_failure("bind to TCP port 15828", "a free port",
                             "another dtest server runs on this machine: end it first");
    }
    return socket;
}

Socket accept_client(const Socket& listener, const Deadline& deadline) {
    for (;;) {
        if (!wait_ready(listener.descriptor(), POLLIN, deadline)) {
            throw Failure("accept on TCP port 15828", "nobody came",
                          format("a client within %.0f seconds", deadline.seconds()),
                          "start dtest -h HOST with this machine's name");
        }
        Socket client(
            accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (client.descriptor() >= 0) return client;
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            throw socket_failure("accept on TCP port 15828", "a connection",
                                 "start both sides again");
        }
    }
}

Socket connect_to_server(const std::string& host, const Deadline& deadline) {
    const Addresses addresses = resolve(host);
    for (;;) {
        int error = 0;
        for (const addrinfo* to = addresses.get(); to != nullptr; to = to->ai_next) {
            Socket socket = try_connect(*to, deadline);
            if (socket.descriptor() >= 0) return socket;
            error = errno;
        }
        if (deadline.passed()) {
            throw Failure(
                "connect to " + host + " TCP port 15828", std::strerror(error),
                format("a dtest server within %.0f seconds", deadline.seconds()),
                "start dtest without -h there first, and see that no firewall is in the way");
        }
        usleep(static_cast<useconds_t>(deadline.left_us(kRetryEveryUs)));
    }
}

void send_record(const Socket& socket, const Record& record, const Deadline& deadline) {
    const RecordBytes bytes = encode_record(record);
    for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t count =
            send(socket.descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count >= 0) {
            sent += static_cast<std::size_t>(count);
        } else if (errno != EINTR && errno != EAGAIN) {
            throw socket_failure("send of the record", "a client that reads it",
                                 "look at the client's messages");
        } else if (!wait_ready(socket.descriptor(), POLLOUT, deadline)) {
            errno = ETIMEDOUT;
            throw socket_failure("send of the record", "a client that reads it",
                                 "look at the client's messages");
        }
    }
}

Record receive_record(const Socket& socket, const Deadline& deadline) {
    RecordBytes bytes;
    for (std::size_t got = 0; got < bytes.size();) {
        if (!wait_ready(socket.descriptor(), POLLIN, deadline))
            errno = ETIMEDOUT;
        else {
            const ssize_t count =
                recv(socket.descriptor(), bytes.data() + got, bytes.size() - got, 0);
            if (count > 0) {
                got += static_cast<std::size_t>(count);
                continue;
            }
            if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (count == 0) errno = ECONNRESET;
        }
        throw socket_failure("receive of the server's record", "128 bytes",
                             "look at the server's messages");
    }
    return decode_record(bytes);
}

bool peer_closed(const Socket& socket) {
    char byte;
    const ssize_t count = recv(socket.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace dtest
