// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_stat --registrations: the tables of the registration broker, read where they are: no process
/// takes part. Those that tell their state anyway add what they have registered.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "broker/broker.hpp"
#include "tools/stat/state.hpp"

namespace stat_tool {

/// All tables of this user. @param failed becomes true where one cannot be read, which is told.
std::vector<dapl::memory::TableStatus> read_tables(bool& failed);

/// @param pids whose slots alone are shown; empty: all. @param told by processes of this user.
std::string registrations_table(const std::vector<dapl::memory::TableStatus>& tables,
                                const std::vector<pid_t>& pids, const std::vector<Process>& told);
std::string registrations_json(const std::vector<dapl::memory::TableStatus>& tables,
                               const std::vector<pid_t>& pids, const std::vector<Process>& told);

}  // namespace stat_tool
