// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What users are told when a connection cannot be made: the same words for all connection
/// managers. Some programs ask again and again until their peer is there, so each kind is told
/// three times in a process, and then that no more will be (see trace level 7 for all).
#pragma once

#include <sys/socket.h>

#include <string>

#include "dapl/cm/event_loop.hpp"

namespace dapl::cm {

struct FailedTry {
    const sockaddr_storage& own;   ///< the IA's address
    const sockaddr_storage& peer;  ///< with the port that was asked for
    std::string step;              ///< what was tried: "finding the address"
    std::string answer;            ///< what came of it: the event's name, the error's text
    long tries;                    ///< of this step, the last one included
    Timer::Clock::duration spent;  ///< since the consumer's call
};

/// The network has no way to the peer, or the peer's machine does not answer.
void tell_unreachable(const FailedTry& failed);
/// The peer's machine is there and says that nobody listens, or its connection manager says no. A
/// consumer's own rejection is told nobody: it is an answer.
void tell_refused(const FailedTry& failed);
/// The consumer's time is over.
void tell_timed_out(const FailedTry& failed);

}  // namespace dapl::cm
