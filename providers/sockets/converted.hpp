// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Both sides of a connection over a TCP socket that the program has connected itself: what a
/// manager's connect() and listen() for sockets do.
#pragma once

#include <memory>
#include <span>

#include "dapl/cm/manager.hpp"
#include "providers/sockets/host.hpp"
#include "support/base/unique_fd.hpp"

namespace dapl::sockets {

support::Result<std::unique_ptr<cm::Connection>> connect_over(Host& host, support::UniqueFd socket,
                                                              const cm::Parameters& parameters,
                                                              cm::User& user)
    REQUIRES(connection_lock);
support::Result<std::unique_ptr<cm::Listener>> listen_over(Host& host, support::UniqueFd socket,
                                                           std::span<const std::byte> last_words,
                                                           cm::ListenUser& user)
    REQUIRES(connection_lock);

}  // namespace dapl::sockets
