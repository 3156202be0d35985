// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Traces the messages of a connection. Both ends use the same labels and have the same pair of
/// ports, so that a message which one end sent can be found in the trace of the other.
#pragma once

#include "dapl/cm/manager.hpp"
#include "support/trace/trace_points.hpp"

namespace dapl::cm {

namespace message {
inline constexpr char kRequest[] = "request";
inline constexpr char kAccept[] = "accept";
inline constexpr char kReject[] = "reject";
inline constexpr char kConfirm[] = "confirm";
inline constexpr char kDisconnect[] = "disconnect";
}  // namespace message

/// @param user the connection's user, or nullptr. @param bytes size of the private data.
inline void trace_sent(const Connection& connection, const User* user, const char* label,
                       std::size_t bytes = 0) REQUIRES(connection_lock) {
    const std::uint64_t own = connection.local_port();
    support::trace_sent(user ? user->traced_id() : 0, label, own << 32 | connection.remote_port(),
                        bytes);
}

inline void trace_received(const Connection& connection, const User* user, const char* label,
                           std::size_t bytes = 0) REQUIRES(connection_lock) {
    const std::uint64_t own = connection.local_port();
    support::trace_received(user ? user->traced_id() : 0, label,
                            own << 32 | connection.remote_port(), bytes);
}

}  // namespace dapl::cm
