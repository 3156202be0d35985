// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The side that asks.
#pragma once

#include <sys/socket.h>

#include <string>

#include "tools/ping/adapter.hpp"
#include "tools/ping/message.hpp"
#include "tools/ping/statistics.hpp"

namespace ping {

struct Wishes {
    std::string ia = "soft0";
    std::string target;
    DAT_CONN_QUAL qualifier = kUsualQualifier;
    std::size_t size = kUsualSize;
    std::uint64_t count = 0;  ///< 0: until interrupted
    double interval = 1;      ///< seconds from ping to ping
    double patience = 10;     ///< seconds for one answer, and for connecting
    double deadline = 0;      ///< seconds for all; 0: none
    bool quiet = false, flood = false, json = false;
};

/// Pings until all is done, or interrupted; prints as it goes and at the end. @return the exit
/// status: 0 answers came (all of them, where both a count and a deadline were given), 1 none did.
int run_client(const Wishes& wishes);

}  // namespace ping
