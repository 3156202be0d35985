// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Finds out how long values have not changed. The data path reads no clock; instead, snapshots
/// taken a second apart are compared, which makes the ages inexact by one second.
#pragma once

#include <unordered_map>

#include "dapl/status/snapshot.hpp"

namespace dapl::status {

/// For one thread at a time.
class Ages {
  public:
    /// Compares a snapshot with the earlier ones and fills in its ages.
    void observe(Snapshot& snapshot);

  private:
    /// A value, and when it was first seen.
    struct Seen {
        std::uint64_t value = 0;
        Clock::time_point since;
        std::uint64_t round = 0;  ///< in which it was last seen
    };
    /// The values that are watched of an object.
    enum Aspect : std::uint64_t {
        kTakenRequests,
        kOldestRequest,
        kTakenReceives,
        kOldestReceive,
        kLooks,
        kRequest
    };
    static constexpr std::uint64_t kAspects = 8;
    struct Key {
        std::uint64_t object;
        Aspect aspect;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const {
            return std::hash<std::uint64_t>()(key.object * kAspects + key.aspect);
        }
    };
    Age age_of(const Key& key, std::uint64_t value);
    void observe_side(std::uint64_t ep, SideStatus& side, Aspect taken, Aspect oldest);

    std::unordered_map<Key, Seen, Hash> seen_;
    Clock::time_point now_;
    std::uint64_t round_ = 0;
};

}  // namespace dapl::status
