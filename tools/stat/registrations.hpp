// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_stat --registrations: the tables of the registration broker, read in place: no process takes
/// part. Processes that report their state anyway add what they have registered.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "broker/broker.hpp"
#include "tools/stat/state.hpp"

namespace stat_tool {

/// @return all tables of this user. @param failed set when one cannot be read, which is reported.
std::vector<dapl::memory::TableStatus> read_tables(bool& failed);

/// @param pids the processes whose slots are shown; empty: all. @param told the reported state of
/// processes of this user.
std::string registrations_table(const std::vector<dapl::memory::TableStatus>& tables,
                                const std::vector<pid_t>& pids, const std::vector<Process>& told);
std::string registrations_json(const std::vector<dapl::memory::TableStatus>& tables,
                               const std::vector<pid_t>& pids, const std::vector<Process>& told);

}  // namespace stat_tool
