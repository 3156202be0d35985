// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The objects of the program: who made them, who freed them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "check/model/finding.hpp"
#include "check/model/transfers.hpp"

namespace check {

struct Object {
    const char* kind = "";  ///< "EP"
    Domain owner = nullptr;
    Origin made;
    Origin ended;
    bool is_live = true;
    bool goes_with_owner = false;  ///< its owner frees it
    std::uint64_t key = 0;         ///< of a memory region
    std::uint64_t remote_key = 0;  ///< of one that peers may use
    bool knows_limits = false;     ///< an adapter whose limits the program has asked for
    // The next three are for queues of events.
    std::uint64_t length = 0;       ///< entries that the program asked for
    std::uint64_t outstanding = 0;  ///< transfers posted whose completions come here
    bool feeds_itself = false;      ///< its events need no other object
    /// The queues that this object feeds.
    const void* feeds[3] = {};
    Endpoint* endpoint = nullptr;  ///< owned, where transfers can be posted
};

/// Guarded by the model's lock.
class Objects {
  public:
    explicit Objects(Arena& arena) : arena_(arena), objects_(Pooled<int>(arena)) {}

    /// Remembers a new object, in place of a freed one whose handle it has.
    Object& add(const void* handle, const Object& object);
    /// @return the object, live or freed, or nullptr.
    Object* find(const void* handle);
    Object* find_live(const void* handle);
    Endpoint& add_endpoint(Object& object);
    void end(Object& object, const Origin& origin);
    void forget(Domain owner);
    bool is_fed(const void* queue) const;
    /// For loops over all objects of an owner, or, with nullptr, of all owners.
    template <class Visit>
    void for_each(Domain owner, const Visit& visit) {
        for (auto& [handle, object] : objects_)
            if (!owner || object.owner == owner) visit(handle, object);
    }

  private:
    void drop_endpoint(Object& object);

    Arena& arena_;
    std::unordered_map<const void*, Object, std::hash<const void*>, std::equal_to<>,
                       Pooled<std::pair<const void* const, Object>>>
        objects_;
};

}  // namespace check
