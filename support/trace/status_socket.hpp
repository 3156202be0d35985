// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Common to a process that reports its state and to the tools that ask for it: where the
/// sockets are, and the protocol.
///
/// A client connects (SOCK_STREAM), writes one line with the name of what it wants, and reads a
/// line with the number of bytes that follow, then these: a JSON document. The process then closes
/// the connection. It answers an unknown request with no bytes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "support/base/private_directory.hpp"

namespace support::status_socket {

/// Requests.
inline constexpr std::string_view kStatus = "status\n";
inline constexpr std::size_t kLongestRequest = 64;  ///< bytes, with the end of line
inline constexpr std::size_t kLongestHead = 32;  ///< first line of the answer, with the end of line
/// Version of the documents; the member `opendat_status` holds it.
inline constexpr int kVersion = 1;

/// @return OPENDAT_STATUS_DIRECTORY, else the user's default directory.
std::string directory_path(uid_t user);

/// Each provider library of a process has a socket of its own.
struct Name {
    pid_t process;
    std::string library;  ///< file name, without directories
    int serial;           ///< distinguishes libraries of the same name in a process
};
std::string to_text(const Name& name);
/// @return nullopt for the name of anything else.
std::optional<Name> parse_name(std::string_view text);

/// @return a non-blocking connected socket, or an errno value: ECONNREFUSED when nobody listens any
/// more, EAGAIN when too many clients wait.
tl::expected<UniqueFd, int> connect(const PrivateDirectory& directory, const std::string& name);
/// Removes the sockets of processes that have ended. A process listens before its socket gets its
/// final name, so a name without a listener never gets one.
void remove_stale(const PrivateDirectory& directory);

}  // namespace support::status_socket
