// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The command line of dtest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "test/dtest/record.hpp"

namespace dtest {

/// Exit status for wrong usage, as scripts written for other dtests expect it.
constexpr int kUsageStatus = 244;

struct Options {
    std::string host;  ///< empty for a server
    std::string provider = "soft0";
    bool provider_given = false;
    std::uint32_t size = 4 << 20;  ///< bytes of one transfer
    bool size_given = false;
    std::uint32_t burst = 1000;       ///< number of RDMA writes
    std::uint32_t signal_rate = 10;   ///< one of so many requests asks for its completion
    std::uint32_t increment = 0;      ///< bytes between two sizes; 0: powers of two
    std::uint32_t delay_seconds = 0;  ///< before the accept
    std::uint32_t timeout_seconds = 30;
    bool one_way = false;
    bool write_only = false;
    bool write_ping_pong = false;
    bool data_check = false;
    bool all_sizes = false;
    bool cno = false;
    bool poll = false;
    bool times = false;
    bool verbose = false;

    bool server() const { return host.empty(); }
    Terms terms() const;
    /// @return the transfer sizes in their order; only one without --all-sizes.
    std::vector<std::uint32_t> sizes() const;
    std::uint32_t largest_size() const;
};

/// Parses the command line and explains an error on stderr.
/// @return the options, or nothing if the process should exit with `exit_status`.
std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

}  // namespace dtest
