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

}  // namespace support
