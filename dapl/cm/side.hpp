// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One side of a connection, common to all connection managers: its peer, user and parameters.
#pragma once

#include <algorithm>
#include <array>

#include "dapl/base/codes.hpp"
#include "dapl/cm/manager.hpp"

namespace dapl::cm {

class Side : public Connection {
  public:
    sockaddr_storage peer_address() const final REQUIRES(connection_lock) { return peer_; }
    DatagramAddress datagram_address() const final REQUIRES(connection_lock) {
        return datagram_address_;
    }
    /// The active side has no request to answer.
    support::Result<void> accept(const Parameters&, User&) override REQUIRES(connection_lock) {
        return support::failure(raw(DAT_INTERNAL_ERROR), "no request");
    }
    void answer() override REQUIRES(connection_lock) {}
    void reject(PrivateData) override REQUIRES(connection_lock) {}

  protected:
    /// @param user nullptr where there is none yet.
    Side(const sockaddr_storage& peer, User* user) : peer_(peer), user_(user) {}

    /// Copies the parameters and their private data. @param most maximum bytes of private data.
    void take(const Parameters& parameters, std::size_t most) REQUIRES(connection_lock) {
        const std::size_t size = std::min({parameters.private_data.size(), most, given_.size()});
        std::copy_n(parameters.private_data.begin(), size, given_.begin());
        own_ = parameters;
        own_.private_data = PrivateData(given_.data(), size);
    }

    sockaddr_storage peer_;
    User* user_;
    Parameters own_{};                    ///< its private data is given_
    DatagramAddress datagram_address_{};  ///< the peer's

  private:
    std::array<std::byte, 255> given_{};  ///< private data; no manager carries more
};

}  // namespace dapl::cm
