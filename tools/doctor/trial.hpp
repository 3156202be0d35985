// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Sides of a transfer in processes of their own, so that whatever a provider does there is seen
/// from here.
#pragma once

#include <string>

#include "tools/doctor/finding.hpp"
#include "tools/doctor/link.hpp"

namespace doctor {

enum class Role { kPassive, kActive };

/// Both sides on this machine.
void try_alone(const std::string& ia_name, double seconds, Findings& findings);
/// Our side of a pair.
void try_with_peer(const std::string& ia_name, Role role, Link link, double seconds,
                   Findings& findings);
/// Whether the kernel lets one process of ours copy the memory of another that is not its child.
/// @return an errno value, 0 where it does.
int copy_between_processes();

}  // namespace doctor
