// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Runs all checks, in their order.
#pragma once

#include "tools/doctor/options.hpp"
#include "tools/doctor/report.hpp"

namespace doctor {

/// Progress goes to stderr if that is a terminal. @throw tools::Failure if the other machine of a
/// pair does not connect.
Report examine(const Options& options);

}  // namespace doctor
