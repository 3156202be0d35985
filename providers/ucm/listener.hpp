// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "dapl/cm/manager.hpp"
#include "providers/ucm/message.hpp"

namespace dapl::ucm {

class Manager;

class Listener final : public cm::Listener {
  public:
    Listener(Manager& manager, cm::ListenUser& user) : manager_(manager), user_(user) {}
    ~Listener() override REQUIRES(connection_lock);
    support::Result<void> start(std::uint16_t port) REQUIRES(connection_lock);
    /// @param request a new one. May destroy the listener: the consumer who gets the request may
    /// close it.
    void take(const Message& request) REQUIRES(connection_lock);

  private:
    Manager& manager_;
    cm::ListenUser& user_;
    std::uint16_t port_ = 0;
};

}  // namespace dapl::ucm
