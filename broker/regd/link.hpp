// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The connection of a process to dat_regd, if there is one.
#pragma once

#include <optional>
#include <string>

#include "broker/broker.hpp"
#include "broker/regd/message.hpp"
#include "broker/regd/watch.hpp"
#include "support/base/unique_fd.hpp"

namespace dapl::memory::regd {

/// Connects a non-blocking socket. @return an errno value if that fails; ECONNREFUSED for a server
/// that runs neither as root nor as this user.
tl::expected<support::UniqueFd, int> connect_to(const std::string& path);

/// Used by one thread at a time. Never blocks.
class Link {
  public:
    /// @param path empty: there is no daemon.
    explicit Link(std::string path) : path_(std::move(path)) {}
    /// Connects if that is due, sends the report if it has changed, and receives what the daemon
    /// has sent. @param watch wakes its thread when the daemon sends more, or ends.
    /// @return the budget; nothing if not connected.
    std::optional<Amount> exchange(const Message& report, Time time, Watch& watch);
    /// @return whether the daemon has this report, and the news that its last budget is obeyed.
    bool has_sent(const Message& report) const;
    void close();
    bool connected() const { return socket_.valid(); }
    /// Has the next exchange() connect at once.
    void try_now() { next_try_ = 0; }
    /// @return when to call exchange() again to connect; kNever: when a daemon has appeared.
    Time next_try() const { return next_try_; }

  private:
    void connect(Time time, Watch& watch);
    void send(const Message& report);
    void receive();
    Message with_budget(const Message& report) const;

    const std::string path_;
    support::UniqueFd socket_;
    Time next_try_ = 0;
    Message reported_{};
    Amount budget_{kUnlimited, kUnlimited};
};

}  // namespace dapl::memory::regd
