// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Nodes of std::map, allocated and freed without the lock that guards the map: inserting a node
/// allocates nothing, and extracting one frees nothing. This matters because the program's malloc()
/// may call us.
#pragma once

#include <utility>

namespace support {

/// @return a node for `Map`. Throws std::bad_alloc.
template <class Map, class... Arguments>
typename Map::node_type made_node(Arguments&&... arguments) {
    Map one;
    return one.extract(one.emplace(std::forward<Arguments>(arguments)...).first);
}

/// Extracts the elements for which `is_one(element)` holds. @return these elements, to be destroyed
/// after the lock is released.
template <class Map, class IsOne>
Map taken_out(Map& map, const IsOne& is_one) {
    Map out;
    for (auto at = map.begin(); at != map.end();) {
        const auto element = at++;
        if (is_one(*element)) out.insert(map.extract(element));
    }
    return out;
}

}  // namespace support
