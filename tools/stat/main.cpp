// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_stat: the current state of programs that use DAT, and what hangs in them.
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <exception>

#include "tools/common/failure.hpp"
#include "tools/common/options.hpp"
#include "tools/stat/client.hpp"
#include "tools/stat/hang.hpp"
#include "tools/stat/object.hpp"
#include "tools/stat/prometheus.hpp"
#include "tools/stat/registrations.hpp"
#include "tools/stat/state_json.hpp"
#include "tools/stat/table.hpp"

namespace {

using namespace stat_tool;

constexpr int kHangStatus = 3;

struct Options {
    std::vector<pid_t> pids;
    bool json = false, prometheus = false, hang = false, counters = false, registrations = false;
    double watch = 0;  ///< seconds; 0: once
    double after = 5;
    std::uint64_t object = 0;  ///< id of the object to show; 0: all
};

tools::Take process(std::vector<pid_t>& target) {
    return [&target](const std::string& text) {
        target.push_back(static_cast<pid_t>(tools::parse_integer(text, 1, 1 << 30)));
    };
}

void check(const Options& options) {
    if (options.prometheus && (options.json || options.hang || options.watch > 0))
        throw tools::WrongUsage("--prometheus cannot be combined with --json, --hang or --watch");
    if (options.registrations && (options.prometheus || options.hang || options.counters))
        throw tools::WrongUsage(
            "--registrations cannot be combined with --prometheus, --hang or --counters");
    if (options.object != 0 &&
        (options.json || options.prometheus || options.hang || options.registrations))
        throw tools::WrongUsage(
            "--object cannot be combined with --json, --prometheus, --hang or --registrations");
    if (options.counters && (options.json || options.prometheus || options.hang))
        throw tools::WrongUsage(
            "--counters cannot be combined with --json, --prometheus or --hang");
}

tools::CommandLine command_line(Options& options) {
    return {
        "dat_stat",
        "Shows the current state of running programs that use DAT, and finds what hangs in them.\n"
        "They have to be started with OPENDAT_STATUS=on in their environment.\n"
        "  dat_stat                    the programs that answer, a line each\n"
        "  dat_stat PID...             adapter instances, endpoints, dispatchers\n"
        "  dat_stat --hang PID [PID]   what makes no progress, seen from both ends where "
        "possible\n"
        "  dat_stat --object ID        one object, and its connection at both ends\n"
        "  dat_stat --registrations    the entries that processes share, even if these do not "
        "answer",
        {{"pid", "PID", "process id [all processes of this user that answer]",
          process(options.pids), tools::kAnyNumber, false},
         {"--hang", nullptr, "show only what hangs", tools::flag(options.hang)},
         {"--after", "SECONDS", "how long something must last to count as hanging [5]",
          tools::real(options.after, 0, 86400)},
         {"-c,--counters", nullptr, "show the counters too", tools::flag(options.counters)},
         {"--object", "ID", "show only the object with this id, what it works with, and its peer",
          tools::object_id(options.object)},
         {"-r,--registrations", nullptr,
          "show the tables of shared registrations, of all processes or of these",
          tools::flag(options.registrations)},
         {"-w,--watch", "SECONDS", "repeat at this interval, until the processes end",
          tools::real(options.watch, 0.1, 86400)},
         {"-j,--json", nullptr, "print a JSON document", tools::flag(options.json)},
         {"--prometheus", nullptr, "print the Prometheus text format",
          tools::flag(options.prometheus)}},
        {},
        "Exit status: 0 nothing hangs, 1 something failed, 2 wrong usage, 3 something hangs "
        "(--hang).",
        [&options] { check(options); }};
}

void tell(const std::exception& failure) {
    std::fflush(stdout);
    std::fprintf(stderr, "dat_stat: %s\n", failure.what());
}

/// @param failed set when one could not be queried, which is reported.
std::vector<Process> ask_all(const std::vector<pid_t>& pids, bool& failed) {
    std::vector<Process> processes;
    for (const pid_t pid : pids) try {
            processes.push_back(ask(pid));
        } catch (const std::exception& failure) {
            tell(failure);
            failed = true;
        }
    return processes;
}

bool is_busy(const std::vector<Process>& processes) {
    for (const Process& process : processes)
        for (const Library& library : process.libraries) {
            if (library.busy) return true;
            for (const Ia& ia : library.ias)
                if (ia.busy) return true;
        }
    return false;
}

void pause_for(double seconds) {
    const auto whole = static_cast<time_t>(seconds);
    const timespec pause{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
    nanosleep(&pause, nullptr);
}

std::string show_state(const Options& options, const std::vector<Process>& processes) {
    if (options.json) return to_json(processes, {});
    if (options.prometheus) return to_prometheus(processes);
    if (options.pids.empty() && !options.counters) return to_list(processes);
    std::string text;
    for (const Process& process : processes) text += to_table(process, options.counters);
    return text;
}

/// @return the text about one object. Its peer may be in a process that is not named.
std::string show_object(const Options& options, std::vector<Process> processes) {
    if (!options.pids.empty())  // else all have been asked
        for (Process& other : ask_others(processes)) processes.push_back(std::move(other));
    const std::string id = fmt::format("{:x}", options.object);
    processes = only_object(std::move(processes), id);
    if (processes.empty())
        throw tools::Failure(
            "object " + id, "no process that answers has it",
            "an IA, EP, EVD, CNO, SRQ, service point or unanswered connection request that exists",
            "see what it was with `dat_trace --object " + id + " PID`");
    std::string text;
    for (const Process& process : processes) text += to_table(process, options.counters);
    return text;
}

/// Queries the processes that are named, or all of this user. @param failed set when a named one
/// could not be queried, which is reported.
std::vector<Process> ask_wanted(const Options& options, bool& failed) {
    if (!options.pids.empty()) return ask_all(options.pids, failed);
    auto processes = ask_others({});
    if (processes.empty())
        std::fputs(
            "dat_stat: no program of this user answers; a program answers if it has an IA open and "
            "was started with OPENDAT_STATUS=on\n",
            stderr);
    return processes;
}

/// @return the text about what hangs. @param found set to whether anything does.
std::string show_hangs(const Options& options, const std::vector<Process>& processes, bool& found) {
    const auto limit_ms = static_cast<std::int64_t>(options.after * 1e3);
    const auto others = ask_others(processes);
    const auto findings = find_hangs(processes, others, limit_ms);
    found = !findings.empty();
    return options.json ? to_json(processes, findings) : to_text(findings, limit_ms);
}

int show_registrations(const Options& options) {
    bool failed = false;
    const auto tables = read_tables(failed);
    const auto told = ask_others({});
    const std::string text = options.json ? registrations_json(tables, options.pids, told)
                                          : registrations_table(tables, options.pids, told);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return tools::flush_output() != 0 || failed ? tools::kFailureStatus : 0;
}

/// @return the exit status.
int show_once(const Options& options) {
    if (options.registrations) return show_registrations(options);
    bool failed = false;
    auto processes = ask_wanted(options, failed);
    // A thread that opens or closes an IA holds the locks for a moment; a thread that hangs keeps
    // them.
    if (options.hang && is_busy(processes)) {
        pause_for(1);
        processes = ask_wanted(options, failed);
    }
    bool hangs = false;
    if (!processes.empty() || options.json) {
        const std::string text = options.hang          ? show_hangs(options, processes, hangs)
                                 : options.object != 0 ? show_object(options, std::move(processes))
                                                       : show_state(options, processes);
        std::fwrite(text.data(), 1, text.size(), stdout);
    }
    const int written = tools::flush_output();
    if (failed || written != 0) return tools::kFailureStatus;
    return hangs ? kHangStatus : 0;
}

int show(const Options& options) {
    const bool clears = options.watch > 0 && !options.json && isatty(STDOUT_FILENO);
    for (;;) {
        if (clears) std::fputs("\033[H\033[2J", stdout);
        const int status = show_once(options);
        if (options.watch <= 0 || status == tools::kFailureStatus) return status;
        pause_for(options.watch);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const tools::Parsed parsed = tools::parse(command_line(options), argc, argv);
    if (parsed.exit_status) return *parsed.exit_status;
    return tools::run("dat_stat", [&] { return show(options); });
}
