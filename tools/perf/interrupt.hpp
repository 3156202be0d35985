// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Ctrl-C during a measurement: the client reports what it has, and ends.
#pragma once

#include <csignal>
#include <stdexcept>

namespace perf {

class Interrupted : public std::runtime_error {
  public:
    Interrupted() : std::runtime_error("it was interrupted") {}
};

inline volatile std::sig_atomic_t interrupt_wanted = 0;

/// From now on the first SIGINT sets interrupt_wanted; a second one ends the process as usual.
inline void catch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupt_wanted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
}

/// @throw Interrupted after a SIGINT
inline void check_interrupt() {
    if (interrupt_wanted != 0) throw Interrupted();
}

}  // namespace perf
