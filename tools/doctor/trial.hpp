// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Runs the sides of a transfer in separate processes, so that whatever a provider does there can
/// be observed from here.
#pragma once

#include <string>

#include "tools/doctor/finding.hpp"
#include "tools/doctor/link.hpp"

namespace doctor {

enum class Role { kPassive, kActive };

/// Runs both sides on this machine.
void try_alone(const std::string& ia_name, double seconds, Findings& findings);
/// Runs our side of a pair.
void try_with_peer(const std::string& ia_name, Role role, Link link, double seconds,
                   Findings& findings);
/// Tests whether the kernel lets a process of ours copy the memory of another one that is not its
/// child. @return 0 if it does, an errno value if not, -1 if the test process gave no result.
int copy_between_processes();

}  // namespace doctor
