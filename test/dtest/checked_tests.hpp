// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The transfers between two dtests of this kind: every byte of every transfer is checked. Each
/// test runs in rounds: fill and poison, synchronise, transfer (the only timed part), synchronise,
/// check.
#pragma once

#include <vector>

#include "test/dtest/session.hpp"
#include "test/dtest/table.hpp"

namespace dtest {

/// Runs the tests that the options select. Throws a Failure at the first wrong byte, event or code.
std::vector<Result> run_checked_tests(Endpoint& endpoint, const Options& options, const Peer& peer);

}  // namespace dtest
