// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <string>

namespace dapl {

/// ADDRESS:PORT for messages; without a port that is 0.
std::string to_text(const sockaddr_storage& address);

}  // namespace dapl
