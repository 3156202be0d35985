// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The side that answers.
#pragma once

#include <string>

#include "tools/ping/adapter.hpp"

namespace ping {

/// Answers all who ask until interrupted. @param quiet tells of no client.
/// @return the exit status.
int run_server(const std::string& ia, DAT_CONN_QUAL qualifier, bool quiet);

}  // namespace ping
