// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Writes a snapshot as the JSON document that tools get; doc/schema/dat_stat.json describes it.
#pragma once

#include <string>
#include <string_view>

#include "dapl/status/snapshot.hpp"

namespace dapl::status {

/// @param library file name of this provider library. @param resolution time between two samples.
std::string write_document(const Snapshot& snapshot, std::string_view library,
                           std::chrono::milliseconds resolution);

}  // namespace dapl::status
