// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Tells the user what the checks have found: each kind once at each place, the rest is counted.
#pragma once

#include <string>

#include "check/model/model.hpp"

namespace check {

/// Tells and counts the findings of a call, and aborts if the policy says so. No lock may be held.
/// @param call the program's call, "dat_ep_post_send".
void tell(Found& found, const char* call, Domain domain, const Policy& policy);

/// Tells how many findings an adapter instance or device had, if any, and forgets them.
/// @param name "IA soft0"
void tell_counts(Domain domain, const std::string& name);

}  // namespace check
