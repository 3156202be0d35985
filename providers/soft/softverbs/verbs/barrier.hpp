// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The asymmetric barrier between a requester, who marks its transfer and then looks whether it is
/// still permitted, and whoever withdraws the permission and then looks for marks. The requester's
/// half costs nothing: the other half makes every processor on which a member runs pass a barrier.
#pragma once

namespace softverbs {

/// Registers this process for the barrier. @return whether it takes part: others can make its
/// threads pass a barrier, and it can make theirs. Where it does not, requesters on either side use
/// a locked instruction instead.
bool take_part_in_barrier();

/// Makes all threads of all processes that take part pass a full barrier. Some microseconds.
void issue_barrier();

}  // namespace softverbs
