// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The conversation of two doctors, before and beside the transfer: short lines of printable text,
/// over a TCP connection or, on one machine, a pair of sockets. Whatever the other side sends is
/// bounded and checked. All functions throw a tools::Failure.
#pragma once

#include <string>
#include <utility>

#include "tools/common/socket.hpp"

namespace doctor {

inline constexpr std::size_t kLongestLine = 512;

class Link {
  public:
    /// @param seconds how long each line may take.
    Link(tools::Socket socket, double seconds) : socket_(std::move(socket)), seconds_(seconds) {}

    /// @param text is cut, and made printable.
    void send(const std::string& kind, const std::string& text);
    /// @return the text of the next line, which must be of this kind. A line of the kind `failed`
    /// is the other side's failure and becomes one here.
    std::string receive(const std::string& kind);

    /// Throws where the other side has failed, or ended without a last word; does not wait.
    void look();

  private:
    std::string next_line();
    void throw_failure(const std::string& line);

    tools::Socket socket_;
    double seconds_;
    std::string received_;  ///< and not yet taken
};

}  // namespace doctor
