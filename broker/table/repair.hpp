// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// After a process has died with the table locked.
#pragma once

#include "broker/table/table.hpp"

namespace dapl::memory {

/// Finishes what the dead one had begun where others would miss it, derives all sums and lists
/// anew, and wakes everybody. Whatever stands in the table, it ends. Wants the table's lock.
void repair(const Table& table);

}  // namespace dapl::memory
