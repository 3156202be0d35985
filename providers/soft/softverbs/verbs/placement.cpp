// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/verbs/placement.hpp"

#include "providers/soft/softverbs/verbs/target.hpp"

namespace softverbs {

bool Unplaced::look(Target& receiver) {
    const bool is_there = receiver.peer && receiver.ring.valid();
    const std::uint64_t polled = is_there ? receiver.ring.head() : end;
    // The receiver's queue has been resized: its positions start again.
    if (end < overdue) overdue = told = 0;
    if (polled < overdue && told < overdue) {
        told = overdue;
        receiver.kick_cq();
    }
    overdue = end;
    return polled < end && told < end;
}

void Unplaced::leave(Target& receiver) {
    overdue = end;
    look(receiver);
}

}  // namespace softverbs
