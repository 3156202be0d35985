// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <string>

namespace dapl::sockets {

/// Reports that a peer is dropped. After a few reports in a process only traces follow: whoever
/// floods a port must not fill the log as well.
void tell_bad_peer(const sockaddr_storage& peer, const std::string& what);

}  // namespace dapl::sockets
