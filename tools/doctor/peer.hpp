// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What the two machines of a pair tell each other, and what does not go together.
#pragma once

#include <string>

#include "tools/doctor/finding.hpp"
#include "tools/doctor/link.hpp"
#include "tools/info/finding.hpp"

namespace doctor {

struct Side {
    std::string release;  ///< of OpenDAT
    std::string manager;  ///< CMA or SCM; "" where the provider does not tell
    std::string device;
    std::string link;  ///< RoCE, iWARP, InfiniBand
    std::string mtu;
    std::string gid;  ///< with its type
    std::string address;
    std::string boot;      ///< the kernel's id of this start of this machine
    std::string fabric{};  ///< soft0's directory, and which one that is on the machine
};

Side side_of(const info::KnownFacts& facts);
/// Sends ours and receives theirs.
Side exchange(Link& link, const Side& ours);
/// What is empty on either side is not compared. Both sides come to the same.
/// @return whether a transfer between them can be tried.
bool compare(const Side& ours, const Side& theirs, Findings& findings);

}  // namespace doctor
