// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_regd: shares the registrations of an adapter out among the users of a machine, and leads the
/// tables of its own user.
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "broker/directory.hpp"
#include "broker/table/table_layout.hpp"
#include "support/settings/settings.hpp"
#include "tools/common/options.hpp"
#include "tools/regd/devices.hpp"
#include "tools/regd/leader.hpp"
#include "tools/regd/server.hpp"
#include "tools/regd/status.hpp"

namespace {

struct Options {
    std::string socket = support::setting_text(support::Setting::kRegdSocket);
    regd_tool::Rules rules;
    bool status = false, json = false;
};

/// Parses USER=NUMBER.
tools::Take weight(std::map<uid_t, std::uint32_t>& weights) {
    return [&weights](const std::string& text) {
        const std::size_t sign = text.find('=');
        if (sign == std::string::npos)
            throw tools::WrongUsage("--weight: '" + text + "' is not USER=NUMBER");
        const auto user = tools::parse_integer(text.substr(0, sign), 0, 0xfffffffe);
        weights[static_cast<uid_t>(user)] =
            static_cast<std::uint32_t>(tools::parse_integer(text.substr(sign + 1), 1, 1000000));
    };
}

tools::CommandLine command_line(Options& options) {
    return {
        "dat_regd",
        "Divides the registrations of an adapter among the users of a machine. Runs until "
        "SIGTERM.\n"
        "  dat_regd             serves, in the foreground\n"
        "  dat_regd --status    shows what the running daemon has given to each user",
        {{"--bytes", "BYTES", "limit of registered bytes for each adapter [none]",
          tools::number(options.rules.capacity.bytes, 1, 1LL << 52)},
         {"--entries", "NUMBER", "limit of registrations for each adapter [that of its device]",
          tools::number(options.rules.capacity.entries, 1, dapl::memory::kMostEntries)},
         {"-j,--json", nullptr, "with --status: print a JSON document", tools::flag(options.json)},
         {"--socket", "FILE", "the daemon's socket [OPENDAT_REGD_SOCKET]",
          tools::text(options.socket)},
         {"--status", nullptr, "query the running daemon", tools::flag(options.status)},
         {"--weight", "USER=NUMBER",
          "weight of a user, by number, against others [1]; may be repeated",
          weight(options.rules.weights)}},
        {},
        "Exit status: 0 ended by a signal, or status shown, 1 something failed, 2 wrong usage.",
        [&options] {
            if (options.json && !options.status)
                throw tools::WrongUsage("--json requires --status");
        }};
}

int show_status(const Options& options) {
    const auto rows = regd_tool::ask_status(options.socket);
    const std::string text = options.json ? regd_tool::to_json(rows) : regd_tool::to_table(rows);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return tools::flush_output();
}

/// Creates the socket's directory if it is missing; its parent must exist.
void make_directory(const std::string& socket) {
    const std::size_t end = socket.rfind('/');
    if (end != std::string::npos && end != 0) mkdir(socket.substr(0, end).c_str(), 0755);
}

int serve(const Options& options) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    const support::UniqueFd stop(signalfd(-1, &signals, SFD_CLOEXEC));
    if (!stop.valid()) throw std::runtime_error("signalfd failed");
    make_directory(options.socket);
    regd_tool::Devices devices;
    regd_tool::Rules rules = options.rules;
    rules.entries_of = [&devices](const std::string& name) { return devices.entries_of(name); };
    regd_tool::Server server(options.socket, rules);
    regd_tool::Leaders leaders(dapl::memory::directory_path(geteuid()), options.socket);
    server.run(stop.get(), [&leaders] { leaders.look(); });
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const tools::Parsed parsed = tools::parse(command_line(options), argc, argv);
    if (parsed.exit_status) return *parsed.exit_status;
    return tools::run("dat_regd",
                      [&] { return options.status ? show_status(options) : serve(options); });
}
