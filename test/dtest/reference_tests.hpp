// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The transfers of the dtest that other uDAPL distributions ship, for a peer that is one. All its
/// writes go to the same place, so only the final contents can be checked; where it sends memory
/// that it has not filled, only the bytes that it sets are checked.
#pragma once

#include <vector>

#include "test/dtest/session.hpp"
#include "test/dtest/table.hpp"

namespace dtest {

std::vector<Result> run_reference_tests(Endpoint& endpoint, const Options& options);

}  // namespace dtest
