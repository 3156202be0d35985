// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// All checks, in their order.
#pragma once

#include "tools/doctor/options.hpp"
#include "tools/doctor/report.hpp"

namespace doctor {

/// Progress goes to stderr where that is a terminal. @throw tools::Failure where the other machine
/// of a pair does not come.
Report examine(const Options& options);

}  // namespace doctor
