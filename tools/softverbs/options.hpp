// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The command line of softverbs(1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "providers/soft/softverbs/fabric/ports.hpp"
#include "providers/soft/softverbs/faults/rule.hpp"

namespace softverbs::tool {

/// Exit statuses. `run` uses those of env(1), so that scripts can distinguish our failures from the
/// program's.
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kRunFailed = 125;
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

enum class Command { kRun, kList, kClean, kPort, kDevice, kFault };

/// `softverbs fault` does one of these with a fabric's rules.
enum class FaultCommand { kList, kAdd, kClear, kLog };

struct Options {
    Command command = Command::kRun;
    std::string fabric;        ///< "": SOFTVERBS_FABRIC, else the user's own
    std::string cm;            ///< run: "": as in the environment
    bool only = false;         ///< run
    bool explain = false;      ///< run
    std::string check;         ///< run: a list of checks; "": none is asked for
    unsigned devices = 0;      ///< run; 0: as in the environment
    unsigned ports = 0;        ///< run; 0: as in the environment
    std::string link;          ///< run: "": as in the environment
    bool drop_in = false;      ///< run
    std::string faults;        ///< run: rules, or '@' and a file's name; "": as in the environment
    std::string seed;          ///< run, of the rules; "": as in the environment
    std::string fault_log;     ///< run; "": as in the environment
    unsigned time_scale = 0;   ///< run; 0: as in the environment
    bool shared_heap = false;  ///< run
    bool json = false;         ///< ls, fault
    bool dry_run = false;      ///< clean
    char** program = nullptr;  ///< run: its name and arguments, up to a null pointer
    /// port, device: the device's number, the port's, and what is to become of it, if anything.
    PortId port = {};
    std::string change;
    FaultCommand fault = FaultCommand::kList;
    std::vector<faults::Rule> rules;  ///< fault add
};

/// @return nullopt when the process must exit with `status`: help and version were printed on
/// stdout, errors on stderr.
std::optional<Options> parse(int argc, char** argv, int& status);

}  // namespace softverbs::tool
