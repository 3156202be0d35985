// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registered memory, and what was registered lately.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "check/model/arena.hpp"
#include "check/model/finding.hpp"

namespace check {

enum Right : unsigned { kLocalWrite = 1, kRemoteRead = 2, kRemoteWrite = 4, kRemoteAtomic = 8 };

struct Region {
    const void* handle = nullptr;  ///< tells it from a later region with its key
    std::uint64_t first = 0;       ///< address of its first byte as segments give it
    std::uint64_t memory = 0;      ///< address of its first byte in this process
    std::uint64_t length = 0;
    unsigned rights = 0;         ///< Right
    const void* zone = nullptr;  ///< its protection zone
    Origin made;
    Origin ended;
    bool is_live = true;

    bool holds(std::uint64_t address, std::uint64_t bytes) const {
        return address >= first && bytes <= length && address - first <= length - bytes;
    }
};

/// A part of a transfer: an address, a length, and the key of the region that it lies in.
struct Segment {
    std::uint64_t address;
    std::uint64_t length;
    std::uint64_t key;
};

/// Guarded by the model's lock.
class Regions {
  public:
    explicit Regions(Arena& arena) : regions_(Pooled<int>(arena)), ended_(Pooled<int>(arena)) {}

    void add(Domain domain, std::uint64_t key, const Region& region);
    /// Remembers the region as an ended one.
    void end(Domain domain, std::uint64_t key, const void* handle, const Origin& origin);
    void forget(Domain domain);
    /// Forgets an ended region, because something else has its key now.
    void forget_ended(Domain domain, std::uint64_t key);
    /// Whether peers may write these bytes by any region. Looks at all regions, so it is for what
    /// seems to be wrong.
    bool peers_may_write(Domain domain, std::uint64_t memory, std::uint64_t length) const;
    /// @return the live or ended region with this key, or nullptr.
    const Region* find(Domain domain, std::uint64_t key) const;

    /// Whether peers may use a live region.
    bool has_remote(Domain domain) const;

    /// Checks that a region allows the use of one segment.
    /// @param zone the protection zone of who uses it; nullptr: not checked.
    /// @return the region if nothing was found, else nullptr.
    const Region* check_registration(Domain domain, const Segment& segment, unsigned rights,
                                     const void* zone, Found& found) const;
    /// Checks also, by a system call, that the segment's memory is still mapped.
    const Region* check(Domain domain, const Segment& segment, unsigned rights, const void* zone,
                        Found& found) const;

  private:
    struct Name {
        Domain domain;
        std::uint64_t key;
        friend bool operator==(const Name&, const Name&) = default;
    };
    struct Hash {
        std::size_t operator()(const Name& name) const;
    };
    const Region* name_problem(const Name& name, const Segment& segment, Found& found) const;
    void name_nearest(Domain domain, const Segment& segment, Finding& finding) const;

    std::unordered_map<Name, Region, Hash, std::equal_to<>, Pooled<std::pair<const Name, Region>>>
        regions_;
    std::deque<Name, Pooled<Name>> ended_;  ///< oldest first
};

}  // namespace check
