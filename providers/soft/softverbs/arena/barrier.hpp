// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The asymmetric barrier between a requester, which marks its transfer and then checks whether it
/// is still permitted, and a thread that withdraws the permission and then checks for marks. The
/// requester's half costs nothing; the other half makes every processor on which a member runs pass
/// a barrier.
#pragma once

namespace softverbs {

/// Registers this process for the barrier.
/// @return whether it takes part: others can make its threads pass a barrier, and it can make
/// theirs. Unless both processes of a connection take part, their requesters use a locked
/// instruction instead.
bool take_part_in_barrier();

/// Makes all threads of all processes that take part pass a full barrier. Takes some microseconds.
void issue_barrier();

}  // namespace softverbs
