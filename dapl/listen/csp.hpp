// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Common service point: a listener on a socket address. Its connection qualifier is the port.
#pragma once

#include <netinet/in.h>

#include "dapl/adapter/ia.hpp"
#include "dapl/listen/service_point.hpp"
#include "device/address.hpp"

namespace dapl {

class Csp final : public Object<Csp>, public ServicePoint {
  public:
    static constexpr Kind kKind = Kind::kCsp;
    /// @param own_address address to listen on; its port is not 0.
    Csp(Ia& owner, const sockaddr_storage& own_address, Evd& requests_to)
        : ServicePoint(kKind, owner, port_of(own_address), requests_to),
          communicator(communicator_of(owner)),
          address(own_address) {}

    void request(std::unique_ptr<cm::Connection> connection, cm::PrivateData data) override
        REQUIRES(connection_lock) {
        tell(admit(std::move(connection), data, nullptr));
    }
    DAT_HANDLE self() const override { return handle(); }
    bool is_taking() const override REQUIRES(connection_lock) { return true; }

    DAT_COMM communicator;  ///< dat_csp_query returns a pointer to it
    const sockaddr_storage address;
};

void end(Csp& csp) REQUIRES(connection_lock);

}  // namespace dapl
