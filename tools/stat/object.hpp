// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One object among all that processes report, with those that it works with.
#pragma once

#include <string>
#include <vector>

#include "tools/stat/state.hpp"

namespace stat_tool {

/// Reduces what processes report to one object and to what belongs to it: of an IA, all; of an EP,
/// its EVDs, their CNOs, its SRQ, and the same of its peer, in whichever process that is; of an
/// EVD, its CNO.
/// @param id hexadecimal digits. @return the processes that have any of these; empty if none has
/// the object.
std::vector<Process> only_object(std::vector<Process> processes, const std::string& id);

}  // namespace stat_tool
