// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The dialogue of two dat_doctors, before and beside the transfer: short lines of printable text,
/// over a TCP connection or, on one machine, a socket pair. All input from the other side is
/// bounded and checked. All functions throw a tools::Failure.
#pragma once

#include <string>
#include <utility>

#include "tools/common/socket.hpp"

namespace doctor {

inline constexpr std::size_t kLongestLine = 512;

class Link {
  public:
    /// @param seconds timeout for each line.
    Link(tools::Socket socket, double seconds) : socket_(std::move(socket)), seconds_(seconds) {}

    /// @param text is truncated and made printable.
    void send(const std::string& kind, const std::string& text);
    /// @return the text of the next line, which must be of this kind. A line of kind `failed`
    /// reports the other side's failure and is thrown as one here.
    std::string receive(const std::string& kind);

    /// Throws if the other side has failed, or ended without a last message; does not wait.
    void look();

  private:
    std::string next_line();
    void throw_failure(const std::string& line);

    tools::Socket socket_;
    double seconds_;
    std::string received_;  ///< not yet consumed
};

}  // namespace doctor
