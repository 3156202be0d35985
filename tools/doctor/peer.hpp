// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Compares what the two machines of a pair send each other.
#pragma once

#include <string>

#include "tools/doctor/finding.hpp"
#include "tools/doctor/link.hpp"
#include "tools/info/finding.hpp"

namespace doctor {

struct Side {
    std::string release;  ///< of OpenDAT
    std::string manager;  ///< CMA or SCM; "" when the provider does not report it
    std::string device;
    std::string link;  ///< RoCE, iWARP, InfiniBand
    std::string mtu;
    std::string gid;  ///< with its type
    std::string address;
    std::string boot;      ///< the kernel's id of this boot of the machine
    std::string fabric{};  ///< soft0's directory, with the identity of that directory
};

Side side_of(const info::KnownFacts& facts);
/// Sends our side and receives theirs.
Side exchange(Link& link, const Side& ours);
/// Does not compare what is empty on either side. Both sides get the same result.
/// @return whether a transfer between them can be tried.
bool compare(const Side& ours, const Side& theirs, Findings& findings);

}  // namespace doctor
