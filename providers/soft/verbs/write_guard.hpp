// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Holds writers of this process up, the kernel's on its behalf included, while pages are
/// exchanged: userfaultfd's write protection.
#pragma once

#include "providers/soft/fabric/result.hpp"
#include "providers/soft/verbs/page_runs.hpp"

namespace softverbs {

/// While one lives, nobody may wait for a thread that writes to the pages, nor write to them.
class WriteGuard {
  public:
    /// Whether this process may: root usually, others where vm.unprivileged_userfaultfd says so.
    static bool is_permitted();

    /// @return 0 or an errno; then nobody is held up. Readers never are.
    int hold(PageRange pages);
    /// Lets writers go on, who find what stands there now.
    ~WriteGuard();
    WriteGuard() = default;
    WriteGuard(const WriteGuard&) = delete;
    WriteGuard& operator=(const WriteGuard&) = delete;

  private:
    UniqueFd faults_;
    PageRange pages_;
};

}  // namespace softverbs
