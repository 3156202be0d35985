// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The command line of dtest_ext.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "test/dtest/record.hpp"

namespace dtest_ext {

/// Exit status for wrong usage, as scripts written for dtestx expect it.
constexpr int kUsageStatus = 244;

struct Options {
    std::string host;  ///< empty for a server
    std::string provider = "soft0";
    bool provider_given = false;
    std::uint32_t size = 4096;  ///< bytes of the largest transfer
    std::uint32_t datagram_endpoints = 4;
    std::uint32_t seed = 1;  ///< from which every number and byte that is sent derives
    std::uint32_t rounds = 1;
    std::uint32_t timeout_seconds = 60;
    bool datagrams_only = false;
    bool many_servers = false;  ///< one server endpoint for each of the client's datagram endpoints
    bool query = false;
    bool counters = false;
    bool verbose = false;

    bool server() const { return host.empty(); }
    /// @return the options that both sides must share.
    dtest::Terms terms() const;
};

/// Parses the command line and explains an error on stderr.
/// @return the options, or nothing if the process should exit with `exit_status`.
std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

}  // namespace dtest_ext
