// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What a process that tells its state and the tools that ask for it have in common: where the
/// sockets are and what is said over them.
///
/// A client connects (SOCK_STREAM), writes one line, the name of what it wants, and reads a line
/// with the number of bytes that follow, then these: a JSON document. The process then ends the
/// connection. A request that it does not know is answered with no bytes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "support/base/private_directory.hpp"

namespace support::status_socket {

/// What can be asked.
inline constexpr std::string_view kStatus = "status\n";
inline constexpr std::size_t kLongestRequest = 64;  ///< bytes, with the end of line
inline constexpr std::size_t kLongestHead = 32;     ///< of the answer, with the end of line
/// Of the documents; a member `opendat_status` holds it.
inline constexpr int kVersion = 1;

/// OPENDAT_STATUS_DIRECTORY, else the user's own.
std::string directory_path(uid_t user);

/// Each provider library of a process has a socket of its own.
struct Name {
    pid_t process;
    std::string library;  ///< file name, without directories
    int serial;           ///< tells libraries of one name in a process
};
std::string to_text(const Name& name);
/// @return nothing for the name of anything else.
std::optional<Name> parse_name(std::string_view text);

/// @return non-blocking and connected, or an errno value: ECONNREFUSED where nobody listens any
/// more, EAGAIN where too many clients wait.
tl::expected<UniqueFd, int> connect(const PrivateDirectory& directory, const std::string& name);
/// Removes the sockets of processes that are no more. A process listens before its socket gets its
/// name, so that where nobody listens nobody will.
void remove_stale(const PrivateDirectory& directory);

}  // namespace support::status_socket
