// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The TCP connection over which a client learns where its server is, before anything of DAT.
#pragma once

#include <string>
#include <utility>

#include "test/dtest/clock.hpp"
#include "test/dtest/record.hpp"

namespace dtest {

constexpr unsigned short kSideChannelPort = 15828;

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

/// All of these throw a Failure on error or when the deadline passes.
Socket listen_for_client();
Socket accept_client(const Socket& listener, const Deadline& deadline);
/// Tries again and again: the server may not be there yet.
Socket connect_to_server(const std::string& host, const Deadline& deadline);
void send_record(const Socket& socket, const Record& record, const Deadline& deadline);
Record receive_record(const Socket& socket, const Deadline& deadline);
/// @return whether the other side has closed the connection or died.
bool peer_closed(const Socket& socket);

}  // namespace dtest
