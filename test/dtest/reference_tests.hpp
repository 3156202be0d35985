// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The sequence of transfers of the dtest that other uDAPL distributions ship, for when the peer is
/// one. There all writes go to the same place, so only what the peer leaves there at the end can be
/// checked; where the peer sends what lies in its memory, only what it sets is looked at.
#pragma once

#include <vector>

#include "test/dtest/session.hpp"
#include "test/dtest/table.hpp"

namespace dtest {

std::vector<Result> run_reference_tests(Endpoint& endpoint, const Options& options);

}  // namespace dtest
