// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "support/base/unique_fd.hpp"

namespace dapl::cm {

/// @return a duplicate of a program's socket; nothing unless it is TCP's and connected; invalid
/// with errno if no descriptor is left.
std::optional<support::UniqueFd> lent_socket(int socket);

/// @return the port of this end, in host order.
std::uint16_t own_port(const support::UniqueFd& socket);
/// @return the address and port of the other end.
sockaddr_storage other_end(const support::UniqueFd& socket);

}  // namespace dapl::cm
