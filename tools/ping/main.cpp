// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_ping: tests whether messages get through between two adapters, and how long they take.
#include <cstdio>
#include <exception>

#include "tools/common/options.hpp"
#include "tools/ping/client.hpp"
#include "tools/ping/server.hpp"

namespace {

using namespace ping;

/// As for ping, where 1 means that nobody answered.
constexpr int kErrorStatus = 2;

struct Options {
    Wishes wishes;
    bool listen = false;
};

void check(const Options& options) {
    if (options.listen == !options.wishes.target.empty())
        throw tools::WrongUsage("either --listen or a HOST is required");
    if (options.listen && options.wishes.json) throw tools::WrongUsage("--json requires a HOST");
}

tools::CommandLine command_line(Options& options) {
    constexpr double kDay = 86400;
    Wishes& wishes = options.wishes;
    // Earlier releases used -i for the interval, like ping, and -I for the adapter.
    const tools::Take interval = tools::real(wishes.interval, 0.001, kDay);
    return {
        "dat_ping",
        "Sends messages to a dat_ping on another adapter and shows how long the answers take.\n"
        "  dat_ping --listen          answers\n"
        "  dat_ping HOST|ADDRESS      sends a message once a second until interrupted",
        {{"target", "HOST|ADDRESS", "adapter of the listening side", tools::text(wishes.target)},
         {"-l,--listen", nullptr, "answer until interrupted", tools::flag(options.listen)},
         {"-i,--ia", "IA", "adapter, as named in dat.conf [soft0]",
          tools::number_or(interval, tools::text(wishes.ia)), 1, false, "-I"},
         {"-p,--port", "PORT", "connection qualifier [45311]",
          tools::number(wishes.qualifier, 1, 65535), 1, false, "--qualifier"},
         {"-c,--count", "NUMBER", "end after this many messages",
          tools::number(wishes.count, 1, 1LL << 62)},
         {"--interval", "SECONDS", "time from one message to the next [1]; -i with a number, too",
          interval},
         {"-s,--size", "BYTES", "size of a message, 24 to 1048576 [64]",
          tools::number(wishes.size, kSmallestSize, kLargestSize)},
         {"-t,--timeout", "SECONDS", "timeout of an answer [10]",
          tools::real(wishes.patience, 0.001, kDay), 1, false, "-W"},
         {"-w,--deadline", "SECONDS", "end after this time",
          tools::real(wishes.deadline, 0.001, kDay)},
         {"-q,--quiet", nullptr, "print only the summary", tools::flag(wishes.quiet)},
         {"-f,--flood", nullptr, "send again as soon as the answer arrives",
          tools::flag(wishes.flood)},
         {"-j,--json", nullptr, "print the summary as a JSON document", tools::flag(wishes.json)}},
        {},
        "Exit status: 0 answers came, 1 none did (with -c and -w: not all), 2 error, wrong usage "
        "included.",
        [&options] { check(options); }};
}

void end_at_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

int run(const Options& options) {
    end_at_signals();
    const Wishes& wishes = options.wishes;
    const int status =
        options.listen ? run_server(wishes.ia, wishes.qualifier, wishes.quiet) : run_client(wishes);
    return tools::flush_output() == 0 ? status : kErrorStatus;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const tools::Parsed parsed = tools::parse(command_line(options), argc, argv);
    if (parsed.exit_status) return *parsed.exit_status;
    return tools::run(
        "dat_ping", [&] { return run(options); }, kErrorStatus);
}
