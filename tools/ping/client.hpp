// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The requesting side.
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
    double interval = 1;      ///< seconds between pings
    double patience = 10;     ///< timeout in seconds for one answer, and for connecting
    double deadline = 0;      ///< seconds in total; 0: none
    bool quiet = false, flood = false, json = false;
};

/// Pings until all are done, or interrupted; prints as it goes and at the end. @return the exit
/// status: 0 if answers came (all of them, if both a count and a deadline were given), 1 if not.
int run_client(const Wishes& wishes);

}  // namespace ping
