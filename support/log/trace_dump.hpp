// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Writes what this library's threads did last to the log, from within the process.
#pragma once

#include "support/base/messages.hpp"

namespace support {

/// Writes all records, merged by time, to where messages go.
void dump_rings();
/// Calls dump_rings() if OPENDAT_TRACE_DUMP asks for it after a message of this level, at most
/// three times in a process.
void dump_after(Level level);

}  // namespace support
