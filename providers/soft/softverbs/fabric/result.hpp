// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// What softverbs' control path returns. Verbs speak errno, so a failure is an errno
/// value; whoever makes one that the user cannot explain to himself has reported it.
#pragma once

#include <chrono>
#include <tl/expected.hpp>

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

/// The socket calls are cancellation points, and verbs calls are none.
using support::CancellationDisabled;

}  // namespace softverbs
