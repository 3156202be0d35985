// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The trees of a fabric: directories in the fabric's own that hold what sysfs would hold of the
/// devices. A tree's name is a hash of what never changes in it, so that processes with other
/// settings have other trees, and a tree that is there is the right one. Files are written aside
/// and renamed: readers see a whole one, and several processes may write the same tree at once.
/// What changes is kept up to date in all trees by those who change it.
#pragma once

#include <string>
#include <string_view>

#include "providers/soft/softverbs/fabric/directory.hpp"
#include "providers/soft/softverbs/sysfs/entries.hpp"

namespace softverbs {

inline constexpr std::string_view kTreeStem = "softverbs-sysfs-";
inline constexpr std::size_t kTreeDigits = 16;  ///< that follow it in the name of a tree

/// Makes the tree that holds the entries, unless it is there. @return its path, or an errno.
Result<std::string> make_tree(const Directory& directory, const Entries& lasting);

/// Writes anew what has changed in all trees. Called after Index::change(). @return 0 or an errno.
int refresh_trees(const Directory& directory);

}  // namespace softverbs
