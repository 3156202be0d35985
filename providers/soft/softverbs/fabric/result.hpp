// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The results of softverbs' control path. Verbs report errno, so a failure is an errno value; the
/// function that makes one which the user could not explain has reported it.
#pragma once

#include <chrono>
#include <tl/expected.hpp>

#include "providers/soft/softverbs/faults/time_scale.hpp"
#include "support/base/guard.hpp"
#include "support/base/unique_fd.hpp"

namespace softverbs {

/// A value or a positive errno value.
template <class T>
using Result = tl::expected<T, int>;

using Clock = std::chrono::steady_clock;
/// Absolute time at which a wait gives up with ETIMEDOUT.
using Deadline = Clock::time_point;

using support::UniqueFd;

/// For socket calls: they are cancellation points, and verbs calls must not be.
using support::CancellationDisabled;

}  // namespace softverbs
