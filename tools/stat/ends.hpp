// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Joins the two ends of a connection, which two processes report.
#pragma once

#include <vector>

#include "tools/stat/state.hpp"

namespace stat_tool {

/// One end of a connection. Points into the processes that it was found in.
struct End {
    const Process* process;
    const Ia* ia;
    const Ep* ep;
};

/// Appends the EPs of a process that have a peer. Datagram endpoints have none.
void add_ends(const Process& process, std::vector<End>& ends);

/// @return the one of `ends` at the other end of the connection of `end`, or nullptr.
const End* peer_of(const End& end, const std::vector<End>& ends);

}  // namespace stat_tool
