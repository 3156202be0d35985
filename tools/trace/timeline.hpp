// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The events of all threads of several processes in time order, and which endpoints are the two
/// ends of one connection.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tools/trace/snapshot.hpp"

namespace tracing {

struct Event {
    std::int64_t time_ns;  ///< since the epoch, on the clock of the first source
    std::size_t source;    ///< index of the snapshot
    const Library* library;
    const Thread* thread;
    const support::TraceRecord* record;
};

/// An endpoint at one source.
struct End {
    std::size_t source;
    std::uint64_t object;
    std::uint32_t port;                            ///< its own
    auto operator<=>(const End&) const = default;  // NOLINT(modernize-use-nullptr): compares with 0
};
struct Connection {
    std::vector<End> ends;  ///< endpoints, and the requests that came before them
};

struct Timeline {
    std::vector<Event> events;
    std::vector<Connection> connections;
    /// The offset that was added to the times of each source whose machine has a different clock:
    /// the smallest shift that puts the sending of each message before its arrival.
    std::vector<std::int64_t> shifts;

    std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> connection_at;  ///< source, object

    /// Connections of messages at an end that had no endpoint yet.
    std::map<const support::TraceRecord*, std::size_t> connection_with;

    /// Numbers of the messages whose both ends were recorded: the same at both ends.
    std::map<const support::TraceRecord*, std::size_t> message_numbers;

    /// @return the connection that an event belongs to.
    std::optional<std::size_t> connection_of(const Event& event) const;
};

/// @param snapshots must outlive the result.
Timeline make_timeline(std::span<const Snapshot> snapshots);

/// Removes all events whose hook id is not one of these. Connections and shifts stay.
void keep_hooks(Timeline& timeline, const std::set<std::uint16_t>& hooks);
/// Removes all events but those of this object: of it, with it, or of the connection whose end it
/// is, at both ends. Connections and shifts stay. Throws tools::Failure if nothing is left.
void keep_object(Timeline& timeline, std::uint64_t object);

}  // namespace tracing
