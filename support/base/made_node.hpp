// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Elements of std::map, made and destroyed without the lock that guards the map: inserting a node
/// allocates nothing, and extracting one frees nothing. The program's malloc() may call us.
#pragma once

#include <utility>

namespace support {

/// @return a node for `Map`. Throws std::bad_alloc.
template <class Map, class... Arguments>
typename Map::node_type made_node(Arguments&&... arguments) {
    Map one;
    return one.extract(one.emplace(std::forward<Arguments>(arguments)...).first);
}

/// Takes the elements out for which `is_one(element)` holds. @return them, to be destroyed after
/// the lock.
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
