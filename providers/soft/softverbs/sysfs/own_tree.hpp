// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The tree of this process.
#pragma once

namespace softverbs {

/// The path of the tree that shows what this process sees, which is made if it is not there. The
/// first call opens the fabric and allocates; later ones are two system calls at most. Takes no
/// lock of its own: threads that come first at once make the same tree.
/// @return nullptr when the fabric cannot be used, which has been reported.
const char* own_tree();

}  // namespace softverbs
