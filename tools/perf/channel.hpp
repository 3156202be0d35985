// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connected side channel: lines of text, each of which begins with its kind.
#pragma once

#include <stdexcept>
#include <string>

#include "tools/common/socket.hpp"

namespace perf {

/// The other side has failed and reported why; there is nothing to add to that.
struct PeerFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Channel {
  public:
    Channel(tools::Socket socket, double timeout_seconds)
        : socket_(std::move(socket)), timeout_seconds_(timeout_seconds) {}

    void set_timeout(double seconds) { timeout_seconds_ = seconds; }
    /// Sends `KIND TEXT`.
    void send(const std::string& kind, const std::string& text = "");
    /// @return the text of the next line, which must be of this kind. Waits `patience` seconds
    /// longer than the usual timeout.
    /// @throws PeerFailure when the other side reports that it has failed.
    std::string receive(const std::string& kind, double patience = 0);
    /// @return the kind of the next line; its text goes to `text`.
    std::string receive_any(std::string& text, double patience = 0);
    bool closed() const { return tools::peer_closed(socket_); }
    /// @return the other side's report of its failure, if that is what comes next.
    std::string failure_of_peer();

  private:
    std::string next_line(double seconds);

    tools::Socket socket_;
    double timeout_seconds_;
    std::string received_;  ///< not yet consumed
};

}  // namespace perf
