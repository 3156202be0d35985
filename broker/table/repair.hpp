// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Repair of a table after a process has died with it locked, or has overwritten it.
#pragma once

#include "broker/table/table.hpp"

namespace dapl::memory {

/// Completes the grants that a dead process left half done, rebuilds all sums and lists, and wakes
/// all processes. Terminates whatever the table contains. Requires the table's lock.
void repair(const Table& table);

}  // namespace dapl::memory
