// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The answering side.
#pragma once

#include <string>

#include "tools/ping/adapter.hpp"

namespace ping {

/// Answers all requests until interrupted. @param quiet reports no client.
/// @return the exit status.
int run_server(const std::string& ia, DAT_CONN_QUAL qualifier, bool quiet);

}  // namespace ping
