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
    const void* device = nullptr;  ///< verbs: the context that it belongs to
    const void* parent = nullptr;  ///< verbs: the context or protection domain it was made in
    std::uint64_t key = 0;         ///< of a memory region
    std::uint64_t remote_key = 0;  ///< of one that peers may use
    // The next two are for adapters.
    bool knows_limits = false;   ///< the program has asked for them
    bool shares_memory = false;  ///< by more than the rights of regions
    // The next five are for queues of events.
    std::uint64_t length = 0;       ///< entries that the program asked for
    std::uint64_t outstanding = 0;  ///< transfers posted whose completions come here
    bool feeds_itself = false;      ///< its events need no other object
    int takers = 0;                 ///< calls that may be taking an event
    bool may_lack_events = false;   ///< a connection has ended whose completions come here
    std::uint64_t taken = 0;        ///< events of this object that wait for an acknowledgement
    /// The queues that this object feeds.
    const void* feeds[3] = {};
    Endpoint* endpoint = nullptr;  ///< owned, where transfers can be posted
};

/// Guarded by the model's lock.
class Objects {
  public:
    explicit Objects(Arena& arena)
        : arena_(arena), objects_(Pooled<int>(arena)), numbered_(Pooled<int>(arena)) {}

    /// Remembers a new object, in place of a freed one whose handle it has.
    Object& add(const void* handle, const Object& object);
    /// @return the object, live or freed, or nullptr.
    Object* find(const void* handle);
    Object* find_live(const void* handle);
    /// Lets find_numbered() find an object.
    void number(std::uint32_t number, const void* handle) { numbered_[number] = handle; }
    /// @return the live object that has the number now, or nullptr.
    Object* find_numbered(std::uint32_t number);
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
    std::unordered_map<std::uint32_t, const void*, std::hash<std::uint32_t>, std::equal_to<>,
                       Pooled<std::pair<const std::uint32_t, const void*>>>
        numbered_;
};

}  // namespace check
