// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The active side, before it has a connected socket: it tries a few times to get one that is
/// answered.
#pragma once

#include "dapl/cm/failed_try.hpp"
#include "providers/sockets/active.hpp"

namespace dapl::scm {

class Manager;

class DialledConnection final : public sockets::ActiveConnection {
  public:
    DialledConnection(Manager& manager, const sockaddr_in& peer, const cm::Parameters& parameters,
                      cm::User& user) REQUIRES(connection_lock);
    /// @return a failure only if no try can be made at all.
    support::Result<void> start() REQUIRES(connection_lock);

    cm::Progress progress() const override REQUIRES(connection_lock);

  private:
    void go_on() override REQUIRES(connection_lock);
    void waited() override REQUIRES(connection_lock);
    void not_answered(const std::string& cause) override REQUIRES(connection_lock);
    /// @return 0 for a try that is under way, or an errno value.
    int try_once() REQUIRES(connection_lock);
    /// Tries again, or gives up. @param error an errno value.
    void not_connected(int error) REQUIRES(connection_lock);
    bool try_later() REQUIRES(connection_lock);
    cm::FailedTry failed_try(int error) const REQUIRES(connection_lock);

    const Manager& manager_;
    const cm::Timer::Clock::time_point started_ = cm::Timer::Clock::now();
    int tries_ = 0;
    int tries_without_answer_ = 0;
    /// Only the try that follows the first unanswered one uses the old header: old peers cannot
    /// read the current one.
    sockets::Shape shape_ = sockets::Shape::kCurrent;
};

}  // namespace dapl::scm
