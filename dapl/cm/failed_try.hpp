// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The messages to the user about connections that cannot be made, the same for all connection
/// managers. Some programs retry until their peer is up, so each kind of failure is reported three
/// times per process, followed by a note that further ones are suppressed (trace level 7 shows
/// all).
#pragma once

#include <sys/socket.h>

#include <string>

#include "dapl/cm/event_loop.hpp"

namespace dapl::cm {

struct FailedTry {
    const sockaddr_storage& own;   ///< the IA's address
    const sockaddr_storage& peer;  ///< with the requested port
    std::string step;              ///< what was tried, such as "finding the address"
    std::string answer;            ///< the result: the event's name, the error's text
    long tries;                    ///< of this step, including the last one
    Timer::Clock::duration spent;  ///< since the consumer's call
};

/// Reports that the network has no path to the peer, or that the peer's machine does not answer.
void tell_unreachable(const FailedTry& failed);
/// Reports that nobody listens on the peer's machine, which did answer, or that its connection
/// manager rejected the request. A rejection by the peer's consumer is not reported: it is a
/// regular answer.
void tell_refused(const FailedTry& failed);
/// Reports that the consumer's timeout has expired.
void tell_timed_out(const FailedTry& failed);

}  // namespace dapl::cm
