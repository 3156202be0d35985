// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input"):
/// finds few rules that still make a run fail.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace softverbs::explore {

using Rules = std::vector<std::string>;

/// Tries several sets of rules, at once if it can.
/// @return the first, in their order, with which the run fails in the same way; nullopt if there is
/// none, or if it was interrupted.
using TryAll = std::function<std::optional<std::size_t>(const std::vector<Rules>&)>;

/// @param rules with which the run fails.
/// @return a part of them from which no single rule can be left out, as far as `try_all` is
/// reliable.
Rules shrink(Rules rules, const TryAll& try_all);

}  // namespace softverbs::explore
