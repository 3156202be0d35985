// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The passive side, from the request on.
#pragma once

#include <optional>

#include "providers/cma/connection.hpp"

namespace dapl::cma {

class PassiveConnection : public Connection {
  public:
    /// @param id of the request.
    PassiveConnection(const Manager& manager, const Event& request, Id id)
        REQUIRES(connection_lock);
    support::Result<void> accept(const cm::Parameters& parameters, cm::User& user) final
        REQUIRES(connection_lock);
    void answer() final REQUIRES(connection_lock);
    void reject(cm::PrivateData data) override REQUIRES(connection_lock);

  protected:
    void handle(const Event& event) override REQUIRES(connection_lock);
    /// Accepts with own_. @return an errno value, 0 for success; nullopt if the connection ended
    /// meanwhile, and may be gone.
    virtual std::optional<int> send_accept() REQUIRES(connection_lock);
};

}  // namespace dapl::cma
