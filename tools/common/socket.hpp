// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The TCP connection through which the two ends of a tool find each other, before any DAT call.
/// All functions throw a Failure on error or when the deadline passes.
#pragma once

#include <string>
#include <utility>

#include "tools/common/clock.hpp"

namespace tools {

class Socket {
  public:
    explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Socket();
    int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
};

/// The tool and the port where its two ends meet; also used in messages.
struct MeetingPoint {
    const char* tool;
    unsigned short port;
    const char* server_command;  ///< command that starts the server
    const char* client_command;  ///< command that starts a client
};

Socket listen_for_client(const MeetingPoint& point);
Socket accept_client(const Socket& listener, const MeetingPoint& point, const Deadline& deadline);
/// Retries until the deadline: the server may not be up yet.
Socket connect_to_server(const std::string& host, const MeetingPoint& point,
                         const Deadline& deadline);
/// Sends all `size` bytes. @param what what they are, for messages
void send_bytes(const Socket& socket, const void* bytes, std::size_t size, const char* what,
                const Deadline& deadline);
/// Receives 1 to `size` bytes. @return how many.
std::size_t receive_some(const Socket& socket, void* bytes, std::size_t size, const char* what,
                         const Deadline& deadline);
/// @return whether the other side has closed the connection or died.
bool peer_closed(const Socket& socket);

}  // namespace tools
