// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Puts pages of another kind in place of those that are there, with what they hold. Whoever else
/// writes to the pages meanwhile has to be kept away by the caller.
#pragma once

#include "providers/soft/verbs/page_runs.hpp"

namespace softverbs {

/// Pages of the page file become private pages with the same content. Nothing is copied that was
/// never touched. @return 0 or an errno; then all is as it was.
int make_private(int page_file, PageRange pages);

/// Private pages become pages of the page file with the same content.
/// @param all whether pages that were never touched are copied too: who is held up by WriteGuard is
/// so at pages that are there. @return 0 or an errno; then all is as it was.
int make_shared(int page_file, PageRange pages, bool all);

/// Gives the memory of these offsets back.
void discard_pages(int page_file, PageRange pages);

}  // namespace softverbs
