// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/options.hpp"

namespace doctor {
namespace {

constexpr long long kLastPort = 65535;
constexpr double kLongest = 3600;

/// A process in /proc: only digits are accepted, since the text becomes part of a path.
tools::Take process(std::vector<std::string>& target) {
    return [&target](const std::string& text) {
        constexpr long long kLastProcess = 4194304;
        target.push_back(std::to_string(tools::parse_integer(text, 1, kLastProcess)));
    };
}

void check(const Options& options) {
    if (options.listen && !options.host.empty())
        throw tools::WrongUsage("--listen cannot be combined with a HOST");
}

}  // namespace

tools::CommandLine command_line(Options& options) {
    return {
        "dat_doctor",
        "Finds out what keeps uDAPL programs from working on this machine, or between two.\n"
        "  dat_doctor             examines this machine, with a transfer between two processes\n"
        "  dat_doctor --listen    the first of two machines; waits for the other\n"
        "  dat_doctor HOST        the second one, with a transfer between the machines",
        {{"host", "HOST", "the machine where dat_doctor --listen runs", tools::text(options.host)},
         {"-l,--listen", nullptr, "wait for the other machine of a pair",
          tools::flag(options.listen)},
         {"-i,--ia", "IA", "the IA to examine [the first of dat.conf]", tools::text(options.ia)},
         {"-P,--pid", "PID", "examine the libraries of this process too",
          process(options.processes)},
         {"-p,--port", "PORT", "TCP port on which the pair meets [45312]",
          tools::number(options.port, 1, kLastPort)},
         {"-t,--timeout", "SECONDS", "timeout of each step [60]",
          tools::real(options.seconds, 1, kLongest)},
         {"-j,--json", nullptr, "print one JSON document", tools::flag(options.json)}},
        {},
        "Exit status: 0 nothing is wrong, 1 something would fail, 2 wrong usage, 3 warnings "
        "only.",
        [&options] { check(options); }};
}

}  // namespace doctor
